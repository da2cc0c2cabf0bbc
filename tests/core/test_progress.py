"""Progress: a bar on a terminal, lines in a log, with rate and time left."""

import io
import sys
from types import SimpleNamespace

from rich.console import Console

from unirex import files
from unirex.files import Progress, duration, tracked


class Clock:
    """A clock that a test turns."""

    now = 100.0

    def __call__(self):
        return self.now


def log(**options):
    """A progress that writes to a log, what it wrote, and its clock."""
    file, clock = io.StringIO(), Clock()
    console = Console(file=file, force_terminal=False)
    return Progress("explaining", console=console, clock=clock, **options), file, clock


def test_short_work_says_nothing_in_a_log():
    progress, file, clock = log(total=100)
    with progress:
        for _ in range(10):
            clock.now += 2.9
            progress.advance(10)
    assert file.getvalue() == ""


def test_long_work_says_now_and_then_how_far_it_is():
    progress, file, clock = log(total=100_000)
    with progress:
        for _ in range(61):  # 61 s, 210 texts each
            clock.now += 1
            progress.advance(210)
    assert file.getvalue().splitlines() == [
        "explaining: 6,300 of 100,000 texts, 210/s, 7 min left",  # 93,700 / 210 = 446 s
        "explaining: 12,600 of 100,000 texts, 210/s, 7 min left",
    ]


def test_the_first_line_may_come_earlier_and_news_at_any_time():
    progress, file, clock = log(total=100, unit="steps", first=5)
    with progress:
        for number in range(40):
            clock.now += 1
            progress.advance()
            if number == 19:
                progress.doing = "epoch 2/2"
                progress.say("epoch 1/2: dev 90")
    assert file.getvalue().splitlines() == [
        "explaining: 5 of 100 steps, 1.0/s, 95 s left",
        "epoch 1/2: dev 90",
        "epoch 2/2: 35 of 100 steps, 1.0/s, 65 s left",
    ]


def test_a_notebook_has_a_bar_under_lines_that_stay(monkeypatch):
    drawn, clock = [], Clock()
    output = SimpleNamespace(update=drawn.append)
    shown = SimpleNamespace(HTML=str, display=lambda *_, display_id: output)
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    monkeypatch.setattr(files, "_in_notebook", lambda: True)
    with Progress("epoch <1>", total=10, unit="steps", clock=clock) as progress:
        progress.say("dev > 90")
        clock.now += 5
        progress.advance(5)
    line = "<div>dev &gt; 90</div>"
    bar = (
        '<div><progress value="5" max="10"></progress> epoch &lt;1&gt;: 5 of 10 steps, 1.0/s, 5 s left</div>'
    )
    assert drawn == [line, line + bar, line]


def test_without_a_total_there_is_a_rate_but_no_time_left():
    progress, file, clock = log()
    with progress:
        clock.now += 30
        progress.advance(90)
    assert file.getvalue() == "explaining: 90 texts, 3.0/s\n"


def test_an_estimated_total_is_called_one_and_forgotten_when_it_is_passed():
    progress, _, _ = log(total=100, about=True)
    with progress:
        progress.advance(50)
        assert progress.status(10) == "50 of about 100 texts, 5.0/s, 10 s left"
        progress.advance(51)
        assert progress.status(10) == "101 texts, 10/s"


def test_bytes_have_readable_units_and_a_rate_of_what_came_since_the_start():
    progress, file, clock = log(total=10**9, done=4 * 10**8, unit="bytes")
    with progress:
        clock.now += 30
        progress.advance(3 * 10**8)
    assert file.getvalue() == "explaining: 700.0 MB of 1.0 GB, 10.0 MB/s, 30 s left\n"


def test_nothing_is_said_where_nobody_asked():
    progress, file, clock = log(total=10, shown=False)
    with progress:
        clock.now += 1000
        progress.advance(5)
    assert file.getvalue() == "" and progress.done == 5


def test_a_terminal_has_a_bar_with_count_rate_and_time_left():
    file, clock = io.StringIO(), Clock()
    console = Console(file=file, force_terminal=True, width=120)
    with Progress("evaluating", total=2000, console=console, clock=clock) as progress:
        clock.now += 10
        progress.advance(500)
        progress.say("[news] of 3")
        progress._view.bar.refresh()
    drawn = file.getvalue()
    assert (
        "[news] of 3\n" in drawn and "evaluating" in drawn and "500 of 2,000 texts, 50/s, 30 s left" in drawn
    )


def test_tracked_items_are_counted_as_they_go_by():
    progress, file, clock = log(total=3, unit="rows")
    for number, _ in enumerate(tracked("abc", progress)):
        assert progress.done == number
        clock.now += 20
    assert progress.done == 3 and file.getvalue() == "explaining: 2 of 3 rows, 0.05/s, 20 s left\n"


def test_times_are_told_as_people_say_them():
    assert [duration(seconds) for seconds in (0, 0.2, 119, 3600, 86_400)] == [
        "0 s",
        "1 s",
        "119 s",
        "60 min",
        "24 h 0 min",
    ]
