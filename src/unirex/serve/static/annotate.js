// Marking the reasons in texts: by mouse, by touch and by keyboard. Offsets are those of characters, as in Python.
(() => {
  const { make, makeAuto, letter, count } = dom;
  const root = document.getElementById("annotate");
  const alert = document.getElementById("alert");
  const status = document.getElementById("status");
  const MOST_UNDO = 200;
  let project = null; // what is the same for all texts
  let item = null; // the text on the screen
  let state = null; // { label: [numbers], marks: per segment, pairs of characters }
  let undone = [], done = [];
  let view = null; // its elements
  let clock = null;

  // ---- What is marked --------------------------------------------------------------------------------------

  const copy = (value) => JSON.parse(JSON.stringify(value));

  function merged(spans) {
    const found = [];
    for (const [start, end] of [...spans].sort((a, b) => a[0] - b[0])) {
      const last = found[found.length - 1];
      if (last && start <= last[1]) last[1] = Math.max(last[1], end);
      else found.push([start, end]);
    }
    return found;
  }

  /** The spans without the characters from `from` to `to`; blanks at the new ends go too. */
  function without(spans, from, to, characters) {
    const found = [];
    for (const [start, end] of spans) {
      for (let [left, right] of [[start, Math.min(end, from)], [Math.max(start, to), end]]) {
        while (left < right && !characters[left].trim()) left++;
        while (left < right && !characters[right - 1].trim()) right--;
        if (left < right) found.push([left, right]);
      }
    }
    return found;
  }

  const isMarked = (segment, word) => state.marks[segment].some(([start, end]) => start < word[1] && word[0] < end);

  function change(make) {
    done.push(copy(state));
    if (done.length > MOST_UNDO) done.shift();
    undone = [];
    make();
    keepDraft();
    draw();
  }

  function step(from, to) {
    if (!from.length) return;
    to.push(copy(state));
    state = from.pop();
    keepDraft();
    draw();
  }

  const undo = () => step(done, undone);
  const redo = () => step(undone, done);

  /** Mark or unmark the words from one number to another. */
  function mark(box, first, last, marking) {
    const words = item.words[box.segment];
    const start = words[Math.min(first, last)][0], end = words[Math.max(first, last)][1];
    change(() => {
      const spans = state.marks[box.segment];
      state.marks[box.segment] = marking ? merged([...spans, [start, end]]) : without(spans, start, end, box.characters);
    });
  }

  // ---- A draft of what is not saved yet: places only, never the text ------------------------------------------

  const draftName = () => `unirex-annotate-${project.digest}-${project.me}`;

  function keepDraft() {
    try {
      localStorage.setItem(draftName(), JSON.stringify({ text: item.text, version: item.version, state }));
    } catch { /* a browser that keeps nothing */ }
  }

  function forgetDraft() {
    try { localStorage.removeItem(draftName()); } catch { /* as above */ }
  }

  function draft() {
    try {
      const kept = JSON.parse(localStorage.getItem(draftName()));
      return kept && kept.text === item.text && kept.version === item.version ? kept.state : null;
    } catch { return null; }
  }

  // ---- The text ----------------------------------------------------------------------------------------------

  /** One segment as a list of words to choose from. */
  function wordBox(segment) {
    const text = item.segments[segment];
    const element = makeAuto("div", "text words");
    const box = { segment, element, text, units: live.units(text), characters: [...text], cursor: 0, anchor: null, words: [] };
    element.tabIndex = 0;
    element.setAttribute("role", "listbox");
    element.setAttribute("aria-multiselectable", "true");
    element.setAttribute("aria-label", item.segments.length > 1 ? `Text ${segment + 1}` : "Text");
    element.setAttribute("aria-describedby", "keys");
    element.addEventListener("keydown", (event) => onKey(box, event));
    element.addEventListener("pointerdown", (event) => onPointer(box, event));
    element.addEventListener("focus", () => point(box));
    element.addEventListener("blur", () => { box.anchor = null; point(box); });
    return box;
  }

  function drawWords(box) {
    const { element, text, units, segment } = box, spans = state.marks[segment];
    const slice = (start, end) => text.slice(units[start], units[end]);
    /** The characters of a piece, those that are marked in an element of their own. */
    function fill(parent, start, end) {
      let at = start;
      for (const [from, to] of spans) {
        if (to <= at || from >= end) continue;
        if (from > at) { parent.append(slice(at, from)); at = from; }
        const until = Math.min(to, end);
        const inside = make("span", `marked${from >= start && from === at ? " first" : ""}${to <= end ? " last" : ""}`, slice(at, until));
        parent.append(inside);
        at = until;
      }
      if (at < end) parent.append(slice(at, end));
    }
    element.replaceChildren();
    box.words = item.words[segment].map(([start, end], number) => {
      fill(element, number ? item.words[segment][number - 1][1] : 0, start);
      const word = make("span", "word");
      word.id = `word-${segment}-${number}`;
      word.setAttribute("role", "option");
      word.setAttribute("aria-selected", String(isMarked(segment, [start, end])));
      word.dataset.number = number;
      fill(word, start, end);
      element.append(word);
      return word;
    });
    const last = item.words[segment].at(-1);
    fill(element, last ? last[1] : 0, units.length - 1);
    point(box);
  }

  /** Show the cursor and what the keys or the mouse have taken hold of. */
  function point(box) {
    const focused = document.activeElement === box.element;
    const from = box.anchor ?? box.cursor;
    box.words.forEach((word, number) => {
      word.classList.toggle("cursor", focused && number === box.cursor);
      const inside = number >= Math.min(from, box.cursor) && number <= Math.max(from, box.cursor);
      word.classList.toggle("held", box.anchor !== null && inside);
    });
    if (box.words.length) box.element.setAttribute("aria-activedescendant", `word-${box.segment}-${box.cursor}`);
  }

  function move(box, to, extend) {
    const next = Math.max(0, Math.min(box.words.length - 1, to));
    if (extend) box.anchor ??= box.cursor;
    else box.anchor = null;
    box.cursor = next;
    point(box);
    box.words[next]?.scrollIntoView({ block: "nearest" });
  }

  /** The word above or below, nearest to the cursor. */
  function beside(box, direction) {
    const here = box.words[box.cursor].getBoundingClientRect(), middle = here.x + here.width / 2;
    let best = box.cursor, least = Infinity, line = null;
    for (let number = box.cursor + direction; number >= 0 && number < box.words.length; number += direction) {
      const place = box.words[number].getBoundingClientRect();
      if (Math.abs(place.y - here.y) < here.height / 2) continue;
      line ??= place.y;
      if (Math.abs(place.y - line) > here.height / 2) break;
      const away = Math.abs(place.x + place.width / 2 - middle);
      if (away < least) { least = away; best = number; }
    }
    return best;
  }

  function onKey(box, event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !box.words.length) return;
    const right = getComputedStyle(box.element).direction === "rtl" ? -1 : 1;
    const from = Math.min(box.anchor ?? box.cursor, box.cursor), to = Math.max(box.anchor ?? box.cursor, box.cursor);
    const moves = {
      ArrowRight: () => box.cursor + right, ArrowLeft: () => box.cursor - right,
      ArrowDown: () => beside(box, 1), ArrowUp: () => beside(box, -1),
      Home: () => 0, End: () => box.words.length - 1,
    };
    if (moves[event.key]) move(box, moves[event.key](), event.shiftKey);
    else if (event.key === " " || event.key === "Enter") {
      const all = item.words[box.segment].slice(from, to + 1).every((word) => isMarked(box.segment, word));
      box.anchor = null;
      mark(box, from, to, !all);
    } else if (event.key === "Backspace" || event.key === "Delete") {
      box.anchor = null;
      mark(box, from, to, false);
    } else if (event.key === "Escape") move(box, box.cursor, false);
    else return;
    event.preventDefault();
  }

  function onPointer(box, event) {
    const word = event.target.closest(".word");
    if (!word || event.button !== 0 || !event.isPrimary) return;
    const first = Number(word.dataset.number);
    const marking = !isMarked(box.segment, item.words[box.segment][first]);
    if (event.pointerType !== "touch") event.preventDefault(); // a touch may yet become scrolling
    box.element.focus({ preventScroll: true });
    box.cursor = box.anchor = first;
    point(box);
    const over = (moved) => {
      const found = document.elementFromPoint(moved.clientX, moved.clientY)?.closest(".word");
      if (found && box.element.contains(found)) { box.cursor = Number(found.dataset.number); point(box); }
    };
    const end = (ended) => {
      removeEventListener("pointermove", over);
      removeEventListener("pointerup", end);
      removeEventListener("pointercancel", end);
      const last = box.cursor;
      box.anchor = null;
      if (ended.type === "pointerup") mark(box, first, last, marking);
      else point(box);
    };
    addEventListener("pointermove", over);
    addEventListener("pointerup", end);
    addEventListener("pointercancel", end);
  }

  // ---- The page of a text ---------------------------------------------------------------------------------------

  function button(text, act, className = "") {
    const made = make("button", className, text);
    made.type = "button";
    made.addEventListener("click", act);
    return made;
  }

  function folded(title, ...content) {
    return make("details", "", make("summary", "", title), ...content);
  }

  function labelField() {
    const several = project.multi_label;
    const field = make("fieldset", "labels", make("legend", "", several ? "Labels" : "Label"));
    item.labels.forEach((name, number) => {
      const input = make("input");
      input.type = several ? "checkbox" : "radio";
      input.name = "label";
      input.value = number;
      input.addEventListener("change", () => change(() => {
        if (!several) state.label = [number];
        else state.label = input.checked ? [...state.label, number].sort((a, b) => a - b) : state.label.filter((one) => one !== number);
      }));
      const text = item.choices ? `${letter(number)}: ${item.choices[number]}` : name;
      const label = make("label", "chip-label", input, makeAuto("span", "", text));
      if (number < 9) label.append(make("kbd", "", String(number + 1)));
      field.append(label);
    });
    return field;
  }

  function skipping() {
    const reason = make("input");
    reason.type = "text";
    reason.maxLength = 500;
    reason.name = "reason";
    reason.value = item.reason;
    const send = () => answer("skip", { text: item.text, version: item.version, reason: reason.value });
    return folded("Skip this text", make("div", "row", make("label", "", "Why (if you like) ", reason), button("Skip", send)));
  }

  function showItem(given, { again = false } = {}) {
    item = given;
    state = draft() ?? { label: [...item.label], marks: copy(item.marks) };
    done = [];
    undone = [];
    const boxes = item.segments.map((text, segment) => (item.markable[segment] ? wordBox(segment) : { element: makeAuto("p", "text", text), words: null }));
    const parts = boxes.map((box, segment) => (item.segments.length > 1
      ? make("div", "part", make("h3", "muted", `Text ${segment + 1}${box.words ? "" : " (nothing to mark here)"}`), box.element) : box.element));
    const saving = button(again ? "Save the change" : "Save and next", save, "primary");
    saving.id = "save";
    view = { boxes: boxes.filter((box) => box.words), labels: labelField(), saving, undo: button("Undo", undo), redo: button("Redo", redo), count: make("p", "fine") };
    const clear = button("Unmark all", () => change(() => { state.marks = state.marks.map(() => []); }));
    const says = again ? (item.skipped ? "You skipped this text before." : "You annotated this text before; a change is saved beside what you said.")
      : item.origin ? `Marks and label: ${item.origin}. Check and correct them.` : "";
    const back = again ? button("Back to the current text", next) : null;
    const earlier = button("Earlier text", () => look(-1));
    root.replaceChildren(
      progressLine(),
      ...(project.guidelines ? [guidelines()] : []),
      make("section", "card", make("h2", "card-title", again ? "An earlier text" : "Mark the words that are the reason for the label"),
        ...(says ? [make("p", "fine says", says)] : []), ...parts, view.count,
        make("div", "row tools", view.undo, view.redo, clear), view.labels,
        make("div", "row tools", saving, ...(back ? [back] : []), earlier)),
      make("div", "asides", skipping(), keys()),
    );
    draw();
    startClock();
    view.boxes[0]?.element.focus({ preventScroll: true });
    scrollTo(0, 0);
  }

  function guidelines() {
    const made = folded("Guidelines", makeAuto("p", "guidelines", project.guidelines));
    made.open = project.progress.annotated === 0;
    return made;
  }

  function keys() {
    const rows = [["← → ↑ ↓", "move over the words"], ["Shift + arrow", "take hold of several"], ["Space or Enter", "mark, or unmark what is marked"],
      ["Backspace", "unmark"], ["1 … 9", "choose a label"], ["Ctrl + Z, Ctrl + Y", "undo, redo"], ["Ctrl + Enter", "save and next"]];
    const list = make("dl", "keys", ...rows.flatMap(([key, meaning]) => [make("dt", "", make("kbd", "", key)), make("dd", "", meaning)]));
    const hint = make("p", "hidden-text", "Arrow keys move over the words, Shift extends, Space marks, Backspace unmarks.");
    hint.id = "keys";
    return make("div", "", hint, folded("Keyboard", list));
  }

  function progressLine() {
    const { annotated, skipped, texts, complete } = project.progress;
    const bar = make("progress");
    bar.max = texts;
    bar.value = complete;
    bar.setAttribute("aria-label", "Texts that are complete");
    const leave = button("Leave", async () => { await asked("/leave", {}); showJoin(); }, "quiet");
    const line = `${project.me}: ${count(annotated)} annotated${skipped ? `, ${count(skipped)} skipped` : ""}. All: ${count(complete)} of ${count(texts)} texts complete.`;
    return make("div", "row progress", bar, make("span", "fine", line), leave);
  }

  function draw() {
    view.boxes.forEach(drawWords);
    for (const input of view.labels.querySelectorAll("input")) input.checked = state.label.includes(Number(input.value));
    view.undo.disabled = !done.length;
    view.redo.disabled = !undone.length;
    const words = view.boxes.reduce((sum, { segment }) => sum + item.words[segment].filter((word) => isMarked(segment, word)).length, 0);
    view.count.textContent = words === 1 ? "1 word is marked." : `${words || "No"} words are marked.`;
  }

  // ---- Time on the text, while the page is seen ---------------------------------------------------------------------

  function startClock() {
    clock = { before: 0, since: document.hidden ? null : performance.now() };
  }

  function seconds() {
    return (clock.before + (clock.since === null ? 0 : performance.now() - clock.since)) / 1000;
  }

  document.addEventListener("visibilitychange", () => {
    if (!clock) return;
    if (document.hidden) { clock.before = 1000 * seconds(); clock.since = null; } else clock.since ??= performance.now();
  });

  // ---- The server ------------------------------------------------------------------------------------------------------

  /** The answer, or null once the problem is on the page. */
  async function asked(path, body) {
    alert.textContent = "";
    try {
      return await live.ask(path, body);
    } catch (error) {
      if (error.status === 401) showJoin();
      alert.textContent = error.message;
      return null;
    }
  }

  async function answer(path, body) {
    view.saving.disabled = true;
    const found = await asked(`/${path}`, body);
    if (view) view.saving.disabled = false;
    if (!found) return;
    forgetDraft();
    project.progress = found.progress;
    status.textContent = path === "skip" ? "Skipped." : "Saved.";
    await next();
  }

  function save() {
    if (!project.multi_label && !state.label.length) {
      alert.textContent = "Choose a label first.";
      view.labels.querySelector("input").focus();
      return;
    }
    return answer("save", { text: item.text, version: item.version, label: state.label, marks: state.marks, seconds: seconds() });
  }

  async function next() {
    const found = await asked("/next", {});
    if (!found) return;
    project.progress = found.progress;
    if (found.item) showItem(found.item);
    else showEnd(found.waiting);
  }

  /** Show the text before, among those this person had. */
  async function look(direction) {
    const found = await asked("/before");
    if (!found) return;
    const at = item ? found.texts.indexOf(item.text) : -1;
    const text = found.texts[(at < 0 ? found.texts.length : at) + direction];
    if (text === undefined) { alert.textContent = "There is no earlier text."; return; }
    const earlier = await asked(`/texts/${text}`);
    if (earlier) showItem(earlier, { again: true });
  }

  function showEnd(waiting) {
    item = null;
    const says = waiting ? `Others are at work on the last ${count(waiting)}; look again later.` : "There is nothing left for you. Thank you.";
    const again = button("Look again", next, "primary");
    root.replaceChildren(progressLine(), make("section", "card", make("h2", "card-title", "All done for now"), make("p", "", says),
      make("div", "row tools", again, button("Earlier text", () => look(-1)))));
    again.focus();
  }

  function showJoin(named = project?.names ?? root.dataset.names === "true") {
    item = view = null;
    const input = make("input");
    input.type = "text";
    input.name = "who";
    input.required = true;
    input.autocomplete = "off";
    const form = make("form", "card join", make("h2", "card-title", "Who are you?"),
      make("label", "", named ? "Your name, or the code you were given " : "The code you were given ", input), make("button", "primary", "Begin"));
    form.addEventListener("submit", (event) => { event.preventDefault(); join(input.value); });
    root.replaceChildren(form);
    input.focus();
  }

  async function join(who) {
    const found = await asked("/join", { who });
    if (found) await begin(found);
  }

  async function begin(found) {
    project = found;
    await next();
  }

  document.addEventListener("keydown", (event) => {
    if (!view || !item) return;
    const typing = event.target.matches("input[type=text], textarea");
    const key = event.key.toLowerCase(), control = event.ctrlKey || event.metaKey;
    if (control && key === "enter") save();
    else if (control && !typing && key === "z") (event.shiftKey ? redo : undo)();
    else if (control && !typing && key === "y") redo();
    else if (!control && !event.altKey && !typing && /^[1-9]$/.test(key)) view.labels.querySelectorAll("input")[Number(key) - 1]?.click();
    else return;
    event.preventDefault();
  });

  setInterval(() => {
    if (item && !document.hidden) live.ask("/renew", { text: item.text }).catch(() => {});
  }, 60_000);

  /** Come by a link with a code, come back with a session, or say who you are. */
  async function open() {
    const code = decodeURIComponent(location.hash.slice(1));
    history.replaceState(null, "", location.pathname);
    if (code) return join(code);
    const found = await live.ask("/session").catch((error) => { if (error.status !== 401) alert.textContent = error.message; });
    return found ? begin(found) : showJoin();
  }

  open();
})();
