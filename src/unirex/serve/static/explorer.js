// The explorer: its state is what the form and the columns hold, and the address keeps it.
(() => {
  const { make, makeAuto, letter, percent } = dom;
  const { MOST, USUAL } = explorerState;
  const DRAWS = 3; // random rationales: each costs as much as the whole text for every size
  const PAUSE = 250; // milliseconds before the state goes into the address
  const find = (selector) => document.querySelector(selector);
  const form = find("#ask"), views = find("#views"), slider = form.elements.budget;

  let info = null, examples = null, asking = null, dropping = null, timer = 0;
  const state = explorerState.empty();

  // ---- Asking ---------------------------------------------------------------------------------------------

  const tell = (message) => { find("#status").textContent = message; };
  function fail(error) {
    if (error.name === "AbortError") return;
    find("#problem").textContent = error.message;
    if (error.status === 401) find("#key-form").hidden = false;
  }

  const ask = (path, body, signal) => explorerAsk.ask(path, body, { signal, waits: (seconds) => tell(`The server has too much to do; asking again in ${seconds} s.`) });

  // ---- The form -------------------------------------------------------------------------------------------

  const modelOf = (column) => info.models.find(({ name }) => name === column.model) ?? info.models[0];
  const shownModels = () => [...new Set(state.columns.map((column) => column.model))];

  /** Sizes that the slider offers: those of the systems, and the usual one. */
  function budgets() {
    const own = state.columns.map(modelOf).filter((model) => model.predicts_from !== "rationale").flatMap((model) => model.budgets);
    return [...new Set([...own, USUAL])].sort((one, other) => one - other).slice(0, info.limits.budgets);
  }

  function textarea(title, name, value, rows) {
    const area = makeAuto("textarea", "");
    Object.assign(area, { name, rows, value, spellcheck: false });
    return make("label", "field", make("span", "", title), area);
  }

  function drawTexts() {
    const first = modelOf(state.columns[0]), wanted = first.segments ?? Math.max(1, state.texts.length);
    while (state.texts.length < wanted) state.texts.push("");
    const areas = state.texts.map((text, at) =>
      textarea(state.texts.length > 1 ? `Text ${at + 1}` : "Text", "text", text, state.texts.length > 1 ? 2 : 4));
    if (first.choices) areas.push(textarea("Choices, one a line", "choices", state.choices.join("\n"), 3));
    find("#texts").replaceChildren(...areas);
    find("#add-text").hidden = first.segments !== null || state.texts.length > 1;
  }

  function readTexts() {
    state.texts = [...form.querySelectorAll("[name=text]")].map((area) => area.value);
    const { choices } = form.elements;
    if (choices && choices.value !== state.choices.join("\n")) state.choices = choices.value.split("\n").map((line) => line.trim()).filter(Boolean);
  }

  /** Reads the form and says whether the text was edited: what was dropped or marked was of the text before. */
  function readEdit() {
    const before = JSON.stringify(input());
    readTexts();
    if (JSON.stringify(input()) === before) return false;
    state.dropped.clear();
    state.example = null;
    return true;
  }

  /** The text as a request has it; cut, without the dropped words. */
  function input(cut = (text) => text) {
    const parts = state.texts.map((text, at) => cut(text, at));
    if (!modelOf(state.columns[0]).choices) return parts.length > 1 ? { segments: parts } : parts[0];
    return { segments: parts, choices: state.choices.map((text, at) => cut(text, state.texts.length + at)) };
  }

  const option = (value, text) => Object.assign(make("option", "", text), { value });

  function fillSelect(select, options, value) {
    select.replaceChildren(...options.map(([name, text]) => option(name, text)));
    select.value = options.some(([name]) => name === value) ? value : options[0][0];
    return select.value;
  }

  function drawOptions() {
    const offered = budgets();
    slider.max = offered.length - 1;
    if (!offered.includes(state.budget)) state.budget = USUAL;
    slider.value = offered.indexOf(state.budget);
    slider.disabled = state.columns.every((column) => modelOf(column).predicts_from === "rationale");
    drawSize();
    form.elements.unit.value = state.unit;
    const choices = modelOf(state.columns[0]).choices;
    const labels = choices ? state.choices.map((_, at) => letter(at)) : [...new Set(state.columns.flatMap((column) => modelOf(column).labels.map(String)))];
    state.target = fillSelect(form.elements.target, [["", "the predicted label"], ...labels.map((name) => [name, name])], state.target);
    state.contrast = fillSelect(form.elements.contrast, [["", "–"], ...labels.map((name) => [name, name])], state.contrast);
    form.elements.contrast.disabled = choices;
  }

  function drawSize() {
    find("#size").textContent = `${state.budget} % of the tokens`;
    slider.setAttribute("aria-valuetext", percent(state.budget));
  }

  // ---- Columns --------------------------------------------------------------------------------------------

  function labelled(title, control) {
    return make("label", "field", make("span", "", title), control);
  }

  function dial(column, model) {
    if (model.dial === null || column.extractor) return "";
    const range = Object.assign(make("input"), { type: "range", min: 0, max: 1, step: 0.05, name: "dial" });
    range.value = column.dial ?? model.dial;
    const shown = make("output", "limit", range.value), field = labelled("", range);
    field.firstChild.append("Dial, 0 as a person would mark, 1 as the classifier went by: ", shown);
    range.addEventListener("input", () => { shown.textContent = range.value; });
    range.addEventListener("change", () => { column.dial = Number(range.value); explain({ only: column }); });
    field.classList.add("wide-field");
    return field;
  }

  function drawColumn(column) {
    const model = modelOf(column), number = state.columns.indexOf(column);
    const by = makeAuto("span", "muted fine", `explained by ${column.extractor || model.extractor}`);
    const title = makeAuto("h3", "", model.name, " ", by), remove = Object.assign(make("button", "", "Remove"), { type: "button" });
    remove.hidden = state.columns.length === 1;
    remove.setAttribute("aria-label", `Remove ${model.name}`);
    remove.addEventListener("click", () => {
      const again = readEdit();
      state.columns.splice(number, 1);
      drawAll();
      remember();
      if (again) explain();
      find("#add-view").focus();
    });
    const systems = make("select"), extractors = make("select");
    column.model = fillSelect(systems, info.models.map(({ name }) => [name, name]), model.name);
    const others = model.extractors.filter((name) => name !== model.extractor);
    column.extractor = fillSelect(extractors, [["", `its own (${model.extractor})`], ...others.map((name) => [name, name])], column.extractor);
    const change = (changes) => { readEdit(); Object.assign(column, { before: null, said: undefined }, changes); drawAll(); explain({ only: column }); };
    systems.addEventListener("change", () => change({ model: systems.value, extractor: "", dial: null, result: null }));
    extractors.addEventListener("change", () => change({ extractor: extractors.value }));
    column.element = make("section", "view", make("div", "head", title, remove));
    column.element.append(make("div", "fields", labelled("System", systems), labelled("Explained by", extractors), dial(column, model)));
    column.element.append(make("div", "answer"));
    column.element.setAttribute("aria-label", `${model.name}, column ${number + 1}`);
    drawAnswer(column);
    return column.element;
  }

  function drawAnswer(column) {
    const place = column.element.querySelector(".answer");
    column.element.classList.toggle("busy", Boolean(column.busy));
    if (column.problem) place.replaceWith(make("div", "answer", make("p", "warning", column.problem)));
    else if (!column.result) place.replaceWith(make("div", "answer", make("p", "fine", column.busy ? "Explaining …" : "No text yet.")));
    else {
      const example = state.example, before = column.before;
      place.replaceWith(explorerView.draw({ result: column.result, before, info: modelOf(column), budget: state.budget, example }));
      drawDropped(column);
    }
  }

  function drawDropped(column) {
    explorerView.strike(column.element, state.dropped);
    const place = column.element.querySelector(".drops");
    if (!place || !column.result) return;
    place.replaceChildren(...(state.dropped.size && column.without ? [explorerView.dropping(column.result, column.without)] : []));
  }

  function drawAll() {
    drawTexts();
    drawOptions();
    views.replaceChildren(...state.columns.map(drawColumn));
    find("#add-view").hidden = state.columns.length >= MOST;
  }

  // ---- Explaining -----------------------------------------------------------------------------------------

  /** The label that is explained where none is asked for, of label sets too. */
  const mostProbable = ({ probabilities }) => probabilities.reduce((best, entry) => (entry.probability > best.probability ? entry : best)).label;

  async function request(column, signal) {
    const model = modelOf(column), body = { inputs: [input()], model: model.name, truncate: true, unit: state.unit, faithfulness: true, floor: DRAWS };
    if (model.predicts_from === "rationale") body.budget = "all";
    else body.budgets = budgets();
    if (column.extractor) body.extractor = column.extractor;
    else if (column.dial !== null && column.dial !== undefined) body.dial = column.dial;
    if (state.contrast) {
      const first = state.target || mostProbable((await ask("predict", { inputs: [input()], model: model.name, truncate: true }, signal)).results[0]);
      body.contrast = [first, state.contrast];
    } else if (state.target) body.target = state.target;
    return body;
  }

  async function answer(column, signal) {
    const said = JSON.stringify(input());
    Object.assign(column, { busy: true, problem: null });
    drawAnswer(column);
    try {
      const body = await request(column, signal), { results } = await ask("explain", body, signal);
      if (column.said !== undefined && column.said !== said && column.result) column.before = column.result;
      Object.assign(column, { result: results[0], asked: body, said });
    } catch (error) {
      if (error.name === "AbortError") return;
      if (error.status === 401) fail(error);
      Object.assign(column, { problem: error.message, result: null, said });
    }
    column.busy = false;
    drawAnswer(column);
  }

  const spoken = (column) => {
    if (column.problem) return `${column.model}: ${column.problem}`;
    const { label, explanations } = column.result;
    return `${column.model}: ${explorerView.named(label, explanations[0].choices)}`;
  };

  /** Asks all systems, or one and those that answered for another text; an earlier question that is still open is given up. */
  async function explain({ only } = {}) {
    if (!state.texts.some((text) => text.trim())) { tell("Type a text first."); return; }
    if (modelOf(state.columns[0]).choices && state.choices.length < 2) { tell("Give two choices or more, one a line."); return; }
    find("#problem").textContent = "";
    asking?.abort();
    asking = new AbortController();
    const { signal } = asking, said = JSON.stringify(input());
    const asked = state.columns.filter((column) => !only || column === only || column.busy || column.said !== said);
    tell("Explaining …");
    remember();
    await Promise.all(asked.map((column) => answer(column, signal)));
    if (signal.aborted) return;
    tell(`${state.columns.filter((column) => column.result || column.problem).map(spoken).join("; ")}.`);
    if (state.dropped.size) predictWithout();
  }

  function submit() {
    readEdit();
    drawOptions();
    explain();
  }

  // ---- Dropping words -------------------------------------------------------------------------------------

  async function predictWithout() {
    dropping?.abort();
    dropping = new AbortController();
    const { signal } = dropping, texts = explorerState.droppedTexts(state);
    await Promise.all(state.columns.map(async (column) => {
      column.without = { texts };
      drawDropped(column);
      if (!texts.length) return;
      try {
        const { results } = await ask("predict", { inputs: [input((text, part) => explorerState.without(state, text, part))], model: column.model, truncate: true }, signal);
        column.without = { texts, answer: results[0] };
      } catch (error) {
        if (error.name === "AbortError") return;
        column.without = { texts, problem: error.message };
      }
      drawDropped(column);
    }));
    if (signal.aborted) return;
    const said = state.columns.filter((column) => column.without?.answer).map((column) => `${column.model}: ${explorerView.named(column.without.answer.label)}, ${explorerView.share(Math.max(...column.without.answer.probabilities.map((entry) => entry.probability)))}`);
    tell(texts.length ? `Without ${texts.join(", ")}: ${said.join("; ")}.` : "All words are back.");
  }

  function toggle(piece) {
    const place = piece.dataset.word;
    if (!state.dropped.delete(place)) state.dropped.add(place);
    remember();
    predictWithout();
  }

  /** The arrow keys go from word to word, in the direction of the text. */
  function walk(event) {
    const piece = event.target.closest("[role=button][data-word]");
    if (!piece || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); toggle(piece); return; }
    const all = [...piece.closest(".passage").querySelectorAll("[role=button]")];
    const forward = getComputedStyle(piece).direction === "rtl" ? -1 : 1;
    const step = { ArrowRight: forward, ArrowLeft: -forward, ArrowDown: 1, ArrowUp: -1, Home: -all.length, End: all.length }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = all[Math.min(Math.max(all.indexOf(piece) + step, 0), all.length - 1)];
    piece.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  // ---- The address ----------------------------------------------------------------------------------------

  const address = () => explorerState.address(state, { choices: modelOf(state.columns[0]).choices });

  /** Puts the state into the address, which stays in the browser. */
  function remember() {
    clearTimeout(timer);
    timer = setTimeout(() => { try { history.replaceState(null, "", `#${address()}`); } catch { /* too long, or not allowed */ } }, PAUSE);
  }

  async function restore() {
    const { example, ...linked } = explorerState.read(location.hash.slice(1), info.models);
    Object.assign(state, linked, { example: null });
    if (example !== null) {
      const whole = await examples?.whole(example).catch(() => null);
      if (whole && JSON.stringify(whole.segments) === JSON.stringify(state.texts)) state.example = whole;
    }
    drawAll();
    if (state.texts.some((text) => text.trim())) await explain();
  }

  // ---- The page -------------------------------------------------------------------------------------------

  function choose(example) {
    Object.assign(state, { texts: [...example.segments], choices: example.choices ?? [""], example, dropped: new Set() });
    for (const shown of state.columns) Object.assign(shown, { before: null, said: undefined });
    drawTexts();
    drawOptions();
    explain();
  }

  const COPIES = {
    link: () => { clearTimeout(timer); history.replaceState(null, "", `#${address()}`); return explorerCopy.text(location.href, "unirex-link.txt", "text/plain"); },
    json: () => explorerCopy.text(JSON.stringify(state.columns.filter(({ result }) => result).map(({ asked, result }) => ({ request: asked, result })), null, 2), "unirex.json", "application/json"),
    html: () => explorerCopy.text(explorerCopy.html(views.querySelectorAll(".view")), "unirex.html", "text/html"),
    image: () => explorerCopy.picture(views),
  };

  async function start() {
    info = await ask("info");
    find("#key-form").hidden = true;
    find("#problem").textContent = "";
    const section = find("#examples");
    examples = await explorerExamples.start(section, { ask, models: shownModels, choose, fail });
    await restore();
  }

  find("#key-form").addEventListener("submit", (event) => {
    event.preventDefault();
    explorerAsk.keep(event.target.elements.key.value);
    find("#problem").textContent = "";
    start().catch(fail);
  });
  form.addEventListener("submit", (event) => { event.preventDefault(); if (info) submit(); });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && info) { event.preventDefault(); submit(); }
  });
  slider.addEventListener("input", () => {
    state.budget = budgets()[slider.value];
    drawSize();
    state.columns.forEach(drawAnswer);
    remember();
  });
  for (const name of ["unit", "target", "contrast"])
    form.elements[name].addEventListener("change", (event) => { state[name] = event.target.value; if (name === "unit") state.dropped.clear(); explain(); });
  find("#add-text").addEventListener("click", () => { readEdit(); state.texts.push(""); drawTexts(); form.querySelectorAll("[name=text]")[1].focus(); });
  find("#add-view").addEventListener("click", () => {
    const next = info.models.find(({ name }) => !shownModels().includes(name)) ?? info.models[0];
    readEdit();
    state.columns.push({ model: next.name, extractor: "", dial: null });
    drawAll();
    explain({ only: state.columns.at(-1) });
  });
  find(".tools").addEventListener("click", async (event) => {
    const copy = COPIES[event.target.dataset.copy];
    if (copy && info) tell(await copy());
  });
  views.addEventListener("click", (event) => { const piece = event.target.closest("[data-word]"); if (piece) toggle(piece); });
  views.addEventListener("keydown", walk);
  addEventListener("hashchange", () => info && restore().catch(fail));
  start().catch(fail);
})();
