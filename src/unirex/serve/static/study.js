// The page of a person who takes part: one screen after the other, each drawn from what the server says is next.
(() => {
  const { make, makeAuto, letter, paragraph } = dom;
  const place = document.getElementById("study");
  const ASKED = {
    simulation: "Which label did the program give?",
    rating: "How well do the marked words fit the label?",
    reading: "Learn how the program decides",
  };
  const CLOSE = "You can close this page.";
  let explained = null; // the task whose instructions this page has shown
  let proceed = null; // what Enter does on this screen
  const digits = { groups: [], active: null }; // what the number keys choose from

  // ── Screens ────────────────────────────────────────────────────────────────────────────────────────────────

  /** Replace the screen. Its heading gets the focus, so that readers of the screen begin there. */
  function show(title, ...children) {
    const heading = make("h1", "", title);
    heading.tabIndex = -1;
    place.replaceChildren(heading, ...children);
    document.title = title;
    scrollTo(0, 0);
    heading.focus({ preventScroll: true });
  }

  /** A button that runs something slow once at a time; what fails is said beside it. */
  function button(text, run, { primary = false, alert = null } = {}) {
    const made = make("button", primary ? "primary" : "", text);
    made.type = "button";
    const press = () => guarded(made, run, alert);
    made.addEventListener("click", press);
    if (primary) proceed = press;
    return made;
  }

  async function guarded(made, run, alert) {
    if (made.disabled) return;
    made.disabled = true;
    if (alert) alert.textContent = "";
    try {
      await run();
    } catch (error) {
      if (error.status === 401) enter(error.message);
      else if (alert) alert.textContent = sentence(error.message);
      else enter(error.message);
    } finally {
      made.disabled = false;
    }
  }

  const sentence = (words) => words.charAt(0).toUpperCase() + words.slice(1);

  function alertBox() {
    const made = make("div");
    made.setAttribute("role", "alert");
    return made;
  }

  /** Where a person without a session types the code. */
  function enter(message = "") {
    const alert = alertBox();
    const input = make("input");
    Object.assign(input, { type: "text", id: "code", autocomplete: "off", spellcheck: false, maxLength: 100 });
    input.autocapitalize = "characters";
    const label = make("label", "", "Your code");
    label.htmlFor = "code";
    const form = make("form", "card enter", label, input);
    const go = button("Begin", () => join(input.value), { primary: true, alert });
    form.append(go);
    form.addEventListener("submit", (event) => { event.preventDefault(); proceed(); });
    show("Welcome", make("p", "lead", "Enter the code that you were given. It also brings you back to where you stopped."), form, alert);
    alert.textContent = message && sentence(message);
  }

  async function join(code) {
    if (!code.trim()) throw new Error("Enter your code.");
    explained = null;
    draw(await live.ask("/join", { code }));
  }

  function askConsent(state) {
    const alert = alertBox();
    const agree = async () => draw(await live.ask("/consent", {}));
    const refuse = async () => {
      await live.ask("/leave", {});
      proceed = null;
      show("You do not take part", make("p", "lead", `You have answered nothing. ${CLOSE}`));
    };
    const agreeing = button("I agree to take part", agree, { primary: true, alert });
    proceed = null; // to agree takes the button itself
    show(
      "Before you begin",
      makeAuto("p", "card prose", state.consent),
      make("div", "row", agreeing, button("I do not", refuse, { alert })),
      alert,
    );
  }

  /** What a task is about; shown before its first question, and again to a person who comes back. */
  function explain(state) {
    explained = state.question.task;
    const next = () => ask(state);
    const back = state.answered ? [make("p", "lead", `Questions answered so far: ${state.answered} of ${state.questions}.`)] : [];
    const keys = { simulation: "Number keys choose, Enter sends.", rating: "Number keys choose, Enter sends.", reading: "Enter goes on." };
    show(
      ASKED[explained],
      ...back,
      makeAuto("p", "card prose", state.instructions),
      make("p", "muted", `${keys[explained]} An answer that is sent cannot be changed.`),
      make("div", "row", button("Continue", next, { primary: true })),
      waysOut(state),
    );
  }

  /** One question; the time begins when it is drawn and stands still while the page is hidden. */
  function ask(state) {
    const { question } = state;
    const alert = alertBox();
    const form = make("form", "questions");
    const groups = groupsOf(state);
    form.append(...groups.map((group) => group.box));
    const go = button(question.task === "reading" ? "Continue" : "Send", () => send(state, groups, form), { primary: true, alert });
    form.append(make("div", "row", go, alert));
    form.addEventListener("submit", (event) => { event.preventDefault(); proceed(); });
    const title = question.practice ? "Practice" : question.task === "reading" ? ASKED.reading : `Question ${question.position + 1}`;
    show(title, bar(state), textOf(state), form, details(state), waysOut(state));
    digits.groups = groups;
    activate(groups[0]);
    clock.start();
  }

  async function send(state, groups, form) {
    const { question } = state;
    const missing = groups.find((group) => !group.value());
    if (missing) {
      focusOn(missing);
      throw new Error(`Choose an answer: ${missing.title}`);
    }
    const given = Object.fromEntries(groups.map((group) => [group.name, group.value()]));
    const body = { position: question.position, seconds: clock.seconds(), ...given };
    let next;
    try {
      next = await live.ask("/answer", body);
    } catch (error) {
      if (error.status !== 409) throw error;
      draw(await live.ask("/state")); // answered in another window
      return;
    }
    if (question.practice && question.task !== "reading") feedback(state, given, next, form);
    else draw(next);
  }

  /** After practice: which label was right; the text stays in view. */
  function feedback(state, given, next, form) {
    const box = make("div", "card feedback");
    box.setAttribute("role", "status");
    if (next.right === null) {
      box.append("This was practice. There is no right or wrong here: your own judgement counts.");
    } else {
      const right = next.right === given.label;
      box.append(
        make("strong", right ? "right" : "wrong", right ? "✓ Right." : "✗ Not quite."),
        " The program’s label is ", makeAuto("span", "chip", named(state.question, next.right)), ".",
      );
    }
    digits.groups = [];
    place.querySelector(".progress").replaceWith(bar(next));
    form.replaceWith(box, make("div", "row", button("Continue", () => draw(next), { primary: true })));
    box.scrollIntoView({ block: "nearest" });
  }

  function finished(state) {
    show(
      "Thank you",
      make("p", "lead", `All ${state.questions} questions are answered, and your answers are stored. ${CLOSE}`),
      waysOut(state),
    );
  }

  // ── Parts of a question ────────────────────────────────────────────────────────────────────────────────────

  function bar(state) {
    const made = make("div", "progress");
    const line = make("progress");
    Object.assign(line, { max: state.questions, value: state.answered });
    line.setAttribute("aria-label", "Questions answered");
    made.append(line, make("span", "muted", `${state.answered} of ${state.questions} answered`));
    return made;
  }

  function textOf({ question }) {
    const made = make("section", "card");
    made.setAttribute("aria-label", "Text");
    const marked = [];
    question.segments.forEach((text, number) => {
      const at = live.units(text);
      const words = (question.marks[number] ?? []).map(([start, end]) => ({ start: at[start], end: at[end], selected: true }));
      marked.push(...words.map(({ start, end }) => text.slice(start, end)));
      made.append(paragraph(text, words, []));
    });
    if (question.choices && question.task !== "simulation") made.append(choiceList(question));
    if (question.label !== null) {
      const label = makeAuto("span", "chip", named(question, question.label));
      made.append(make("p", "verdict said", make("span", "muted", "The program’s label:"), label));
    }
    made.append(keyOf(marked));
    return made;
  }

  /** What the marks mean; readers of the screen, which pass over marks, get the words as a list. */
  function keyOf(marked) {
    if (!marked.length) return make("p", "fine key-line", "No words are marked in this text.");
    const list = make("span", "hidden-text", ` Marked: ${marked.join("; ")}.`);
    return make("p", "fine key-line", make("mark", "", "Underlined words"), " are the program’s reasons.", list);
  }

  function details(state) {
    return make("details", "", make("summary", "", "Instructions"), makeAuto("p", "prose", state.instructions));
  }

  function choiceList(question) {
    const items = question.choices.map((text, at) => make("li", "", make("b", "", `${letter(at)} `), makeAuto("span", "", text)));
    return make("ul", "choice-list", ...items);
  }

  /** A label in words: of multiple choice, the letter and what it stands for. */
  function named(question, label) {
    const at = (question.choices ?? []).findIndex((_, number) => letter(number) === label);
    return at < 0 ? label : `${label}: ${question.choices[at]}`;
  }

  /** The groups of options of a question, each with the value that is chosen. */
  function groupsOf({ question, scale }) {
    const points = scale.map((name, at) => [at + 1, name]);
    if (question.task === "simulation") {
      return [
        group("label", ASKED.simulation, question.labels.map((label) => [label, named(question, label)])),
        group("confidence", "How confident are you of your answer?", points),
      ];
    }
    return question.task === "rating" ? [group("alignment", ASKED.rating, points)] : [];
  }

  function group(name, title, options) {
    const box = make("fieldset", name === "label" ? "group" : "group scale", make("legend", "", title));
    const inputs = options.map(([, text], at) => {
      const input = make("input");
      Object.assign(input, { type: "radio", name, value: String(at) });
      const key = make("kbd", "", String(at + 1));
      key.setAttribute("aria-hidden", "true"); // the option has its number already, by its place
      box.append(make("label", "option", input, ...(at < 9 ? [key] : []), makeAuto("span", "", text)));
      return input;
    });
    const value = () => options[inputs.findIndex((input) => input.checked)]?.[0];
    const made = { name, title, box, inputs, value };
    box.addEventListener("focusin", () => activate(made));
    box.addEventListener("change", () => activate(unanswered() ?? made));
    return made;
  }

  const unanswered = () => digits.groups.find((group) => !group.value());

  /** Digits choose in this group from now on; a line at its side says so. */
  function activate(wanted) {
    digits.active = wanted;
    for (const { box } of digits.groups) box.classList.toggle("active", box === wanted?.box);
  }

  /** The focus goes to the option that is chosen, or the first. */
  function focusOn(wanted) {
    if (wanted) (wanted.inputs.find((input) => input.checked) ?? wanted.inputs[0]).focus({ preventScroll: true });
  }

  // ── Ways out ───────────────────────────────────────────────────────────────────────────────────────────────

  function waysOut(state) {
    const made = make("div", "row ways-out");
    const alert = alertBox();
    if (state.stage !== "done") made.append(quiet("Stop for now", stop, alert));
    made.append(quiet("Withdraw and delete my answers", () => withdraw(state), alert), alert);
    return made;
  }

  function quiet(text, run, alert) {
    const made = button(text, run, { alert });
    made.className = "quiet";
    return made;
  }

  async function stop() {
    await live.ask("/leave", {});
    proceed = null;
    show("Until later", make("p", "lead", `Your answers are stored. Your link or code brings you back to where you stopped. ${CLOSE}`));
  }

  function withdraw(state) {
    const dialog = make("dialog", "card");
    const alert = alertBox();
    const heading = make("h2", "", "Withdraw from the study?");
    heading.id = "withdraw-title";
    dialog.setAttribute("aria-labelledby", heading.id);
    const keep = button("No, go on", () => dialog.close());
    const remove = button("Delete my answers", async () => {
      const { deleted } = await live.ask("/withdraw", { delete_my_answers: true });
      dialog.close();
      proceed = null;
      show("You have withdrawn", make("p", "lead", `Answers deleted: ${deleted}. Your code has ended. ${CLOSE}`));
    }, { alert });
    const said = `All answers you have given (${state.answered}) are deleted, and your code ends. This cannot be undone.`;
    dialog.append(heading, make("p", "", said), make("div", "row", keep, remove), alert);
    dialog.addEventListener("close", () => dialog.remove());
    place.append(dialog);
    dialog.showModal();
    keep.focus();
  }

  // ── Keys and time ──────────────────────────────────────────────────────────────────────────────────────────

  /** A digit chooses in the active group; then the focus goes on to the next without an answer, or to the button. */
  function choose(digit) {
    const input = digits.active?.inputs[digit - 1];
    if (!input) return;
    input.click();
    if (unanswered()) focusOn(unanswered());
    else document.querySelector("form.questions button.primary")?.focus({ preventScroll: true });
  }

  addEventListener("keydown", (event) => {
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const typing = event.target.matches?.("input[type=text]");
    if (/^[1-9]$/.test(event.key) && !typing && document.querySelector("form.questions")) {
      event.preventDefault();
      choose(Number(event.key));
    } else if (event.key === "Enter" && proceed && !event.target.closest?.("button, a, summary")) {
      event.preventDefault();
      proceed();
    }
  });

  /** Seconds since the question was drawn, without those in which the page was hidden. */
  const clock = (() => {
    let total = 0, since = null;
    const pause = () => { if (since !== null) total += performance.now() - since; since = null; };
    const resume = () => { if (!document.hidden) since ??= performance.now(); };
    document.addEventListener("visibilitychange", () => (document.hidden ? pause() : resume()));
    return {
      start() { total = 0; since = null; resume(); },
      seconds() { pause(); resume(); return total / 1000; },
    };
  })();

  // ── The beginning ──────────────────────────────────────────────────────────────────────────────────────────

  function draw(state) {
    proceed = null;
    digits.groups = [];
    if (state.stage === "enter") enter();
    else if (state.stage === "consent") askConsent(state);
    else if (state.stage === "done") finished(state);
    else if (state.question.task !== explained) explain(state);
    else ask(state);
  }

  /** The code of a link; it leaves the address at once, and so the history. */
  function codeOfLink() {
    const code = location.hash.slice(1);
    if (code) history.replaceState(null, "", location.pathname);
    try {
      return decodeURIComponent(code);
    } catch {
      return code;
    }
  }

  async function start() {
    explained = null;
    const code = codeOfLink();
    try {
      if (code) await join(code);
      else draw(await live.ask("/state"));
    } catch (error) {
      enter(error.message);
    }
  }

  addEventListener("hashchange", () => { if (location.hash.length > 1) start(); });
  addEventListener("pageshow", (event) => { if (event.persisted) start(); });
  start();
})();
