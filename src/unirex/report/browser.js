"use strict";
// Browses the examples of a comparison. The form is the state: every change of it filters all examples and
// draws one page of them. It runs after dom.js. browser_data.py describes the data.
(() => {
  const { make, makeAuto, letter, percent, count, paragraph } = dom;
  const MOMENT = 40; // milliseconds of drawing at a time, so that the page stays responsive
  const PAUSE = 250; // milliseconds before a view goes into the address: browsers limit how often it may change

  // ---- The data -------------------------------------------------------------------------------------------

  /** The rows as objects, and each pair of methods with the index of its overlap. */
  function unpack({ labels, methods, rows }) {
    const examples = rows.map(([id, label, segments, choices, cuts, gold, answers, overlaps], number) => ({
      number, id, label, segments, choices: choices || null, cuts, gold, answers, overlaps, folded: null,
      length: segments.reduce((sum, text) => sum + text.length, 0),
    }));
    const pairs = [];
    for (let first = 0; first < methods.length; first++)
      for (let second = first + 1; second < methods.length; second++) pairs.push([first, second, pairs.length]);
    return { labels, methods, examples, pairs };
  }

  /** A text for searching: lower case, every run of whitespace as one blank. */
  const fold = (text) => text.normalize("NFC").toLowerCase().replace(/\s+/gu, " ");

  /** The searchable text of an example, made at the first search. */
  function folded(example) {
    example.folded ??= fold([...example.segments, ...(example.choices ?? []), example.id].join("\n"));
    return example.folded;
  }

  // ---- Filters and orders ---------------------------------------------------------------------------------

  /** 1 if the method is right, -1 if it is wrong, 0 if unknown. */
  function outcome(example, method) {
    const predicted = example.answers[method] ? example.answers[method][0] : -1;
    if (predicted < 0 || example.label < 0) return 0;
    return predicted === example.label ? 1 : -1;
  }

  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

  /** Mean over the pairs of the F1 of their selected words, in per cent; null if undefined for all. */
  function overlap(example, pairs) {
    const known = pairs.map(([, , place]) => example.overlaps[place]).filter((share) => share >= 0);
    return known.length ? mean(known) : null;
  }

  /** Share of the pairs that predict different labels. */
  function dissent(example, pairs) {
    let apart = 0, count = 0;
    for (const [a, b] of pairs) {
      const first = example.answers[a], second = example.answers[b];
      if (!first || !second || first[0] < 0 || second[0] < 0) continue;
      count++;
      if (first[0] !== second[0]) apart++;
    }
    return count ? apart / count : 0;
  }

  /** Mean confidence of the methods; null if unknown for all. */
  function confidence(example, methods) {
    const known = methods.map((at) => example.answers[at]).filter((answer) => answer && answer[1] >= 0);
    return known.length ? mean(known.map((answer) => answer[1])) : null;
  }

  const OUTCOMES = {
    some: (outcomes) => outcomes.includes(-1),
    wrong: (outcomes) => outcomes.length > 0 && outcomes.every((sign) => sign < 0),
    right: (outcomes) => outcomes.length > 0 && outcomes.every((sign) => sign > 0),
  };

  /** The filters that the form sets, the cheapest first. */
  function filters(state, pairs) {
    const made = [];
    if (state.gold !== "") made.push((example) => example.label === Number(state.gold));
    if (state.marked) made.push((example) => example.gold && example.gold.length > 0);
    if (state.says !== "")
      made.push(({ answers }) => answers[state.by] && answers[state.by][0] === Number(state.says));
    if (state.outcome !== "") {
      const [how, method] = state.outcome.split(":");
      const methods = method === undefined ? state.methods : [Number(method)];
      made.push((example) => OUTCOMES[how](methods.map((at) => outcome(example, at)).filter(Boolean)));
    }
    if (state.differ) made.push((example) => dissent(example, pairs) > 0);
    if (state.overlap < 100) made.push((example) => (overlap(example, pairs) ?? Infinity) <= state.overlap);
    if (state.text) made.push((example) => folded(example).includes(state.text));
    return made;
  }

  /** Sort keys, the smallest first; examples without a value come last. */
  const ORDERS = {
    disagreement: (example, { pairs }) => -1000 * dissent(example, pairs) + (overlap(example, pairs) ?? 100),
    unsure: (example, { methods }) => confidence(example, methods) ?? Infinity,
    sure: (example, { methods }) => -(confidence(example, methods) ?? -Infinity),
    short: (example) => example.length,
    long: (example) => -example.length,
  };

  /** The pairs of methods that are both among these. */
  function pairsOf(data, methods) {
    return data.pairs.filter(([first, second]) => methods.includes(first) && methods.includes(second));
  }

  /** The examples that pass all filters, in the chosen order. */
  function select(data, state) {
    const pairs = pairsOf(data, state.methods);
    const made = filters(state, pairs), order = ORDERS[state.sort];
    const found = data.examples.filter((example) => made.every((passes) => passes(example)));
    if (!order) return found;
    const keyed = found.map((example) => [order(example, { pairs, methods: state.methods }), example]);
    keyed.sort(([a], [b]) => (a === b ? 0 : a < b ? -1 : 1)); // stable: equals stay as in the data
    return keyed.map(([, example]) => example);
  }

  // ---- Drawing --------------------------------------------------------------------------------------------

  /** A label as people know it: the letter of a choice with the text it stands for. */
  function named(data, example, label) {
    const name = data.labels[label];
    const at = (example.choices ?? []).findIndex((_, number) => letter(number) === name);
    return at < 0 ? name : `${name} · ${example.choices[at]}`;
  }

  /** The words of a text that have a shade or are selected, with their positions. */
  function looks(cuts, signs) {
    const found = [];
    for (let at = 0, end = 0; 2 * at < cuts.length; at++) {
      const start = end + cuts[2 * at];
      end = start + cuts[2 * at + 1];
      const sign = signs ? signs[at] : "0", selected = sign >= "a";
      if (sign !== "0") found.push({ start, end, selected, level: sign.charCodeAt(0) - (selected ? 97 : 48) });
    }
    return found;
  }

  /** The text with the words of one method, or with its gold marks alone. */
  function passage(example, answer) {
    const texts = example.segments.map((text, at) => [text, at]);
    if (answer && answer[3] >= 0) texts.push([example.choices[answer[3]], example.segments.length + answer[3]]);
    let done = 0;
    const paragraphs = texts.map(([text, at]) => {
      const cuts = example.cuts[at], signs = answer && answer[2].slice(done, done + cuts.length / 2);
      done += cuts.length / 2;
      return paragraph(text, looks(cuts, signs), goldOf(example, at));
    });
    return make("div", "passage", ...paragraphs);
  }

  function goldOf(example, text) {
    const found = [];
    for (let at = 0; example.gold && at < example.gold.length; at += 3)
      if (example.gold[at] === text) found.push([example.gold[at + 1], example.gold[at + 2]]);
    return found;
  }

  function verdict(data, example, method) {
    const [predicted, sure] = example.answers[method], right = outcome(example, method);
    if (predicted < 0) return make("p", "verdict", make("span", "muted", "no prediction"));
    const made = make("p", "verdict", makeAuto("span", "chip", named(data, example, predicted)));
    if (right) made.append(make("span", right > 0 ? "right" : "wrong", right > 0 ? "✓ correct" : "✗ wrong"));
    if (sure >= 0) made.append(make("span", "sure", percent(100 * sure, 1)));
    return made;
  }

  function view(data, example, method) {
    const made = make("section", "view", makeAuto("h4", "", data.methods[method]));
    const answer = example.answers[method];
    if (answer) made.append(verdict(data, example, method), passage(example, answer));
    else made.append(make("p", "fine", "Nothing is known of this text."));
    return made;
  }

  /** The gold label, and a note if there was nothing to mark. */
  function facts(data, example) {
    const made = make("p", "verdict");
    if (example.label >= 0) {
      made.append(makeAuto("span", "chip gold-chip", named(data, example, example.label)));
      made.append(make("span", "muted", "gold label"));
    }
    if (example.gold && !example.gold.length) made.append(make("span", "muted", "no word marked"));
    return made.childNodes.length ? made : "";
  }

  function choices(example) {
    if (!example.choices) return "";
    const items = example.choices.map((text, at) => makeAuto("li", "", `${letter(at)} · ${text}`));
    return make("ul", "choices", ...items);
  }

  /** Agreement of the shown methods. */
  function agreement(example, pairs) {
    const found = overlap(example, pairs), made = make("p", "agreement");
    if (dissent(example, pairs) > 0) made.append(make("span", "apart", "predictions differ"));
    if (found !== null) made.append(make("span", "", `rationales overlap ${percent(found)}`));
    return made.childNodes.length ? made : "";
  }

  function card(data, example, methods) {
    const pairs = pairsOf(data, methods);
    const title = make("h3", "card-title", `Text ${count(example.number + 1)}`, makeAuto("span", "id", example.id));
    title.id = `example-${example.number + 1}`;
    const head = make("div", "card-head", title, facts(data, example), agreement(example, pairs));
    const views = methods.map((method) => view(data, example, method));
    const body = views.length ? make("div", "grid", ...views) : passage(example, null);
    body.dataset.views = views.length;
    const made = make("article", "card", head, choices(example), body);
    made.setAttribute("aria-labelledby", title.id);
    return made;
  }

  // ---- A view as an address -------------------------------------------------------------------------------

  const fields = (form) => [...form.elements].filter((field) => field.name);
  const isBox = (field) => field.type === "checkbox";
  const isSelect = (field) => field instanceof HTMLSelectElement;

  /** The fields that differ from their defaults, as readable parameters of an address. */
  function address(form, page) {
    const params = new URLSearchParams();
    for (const field of fields(form)) {
      if (isBox(field)) { if (field.checked !== field.defaultChecked) params.append(field.name, field.value); }
      else if (isSelect(field)) { if (field.selectedIndex > 0) params.set(field.name, field.selectedOptions[0].text); }
      else if (field.value !== field.defaultValue) params.set(field.name, field.value);
    }
    if (page > 0) params.set("page", page + 1);
    return params.toString();
  }

  /** Sets the form from an address; returns the number of the page. */
  function restore(form, query) {
    const params = new URLSearchParams(query);
    for (const field of fields(form)) {
      if (isBox(field)) field.checked = params.getAll(field.name).includes(field.value) !== field.defaultChecked;
      else if (isSelect(field))
        field.selectedIndex = Math.max(0, [...field.options].findIndex((option) => option.text === params.get(field.name)));
      else field.value = params.get(field.name) ?? field.defaultValue;
    }
    return Math.max(0, (parseInt(params.get("page"), 10) || 1) - 1);
  }

  /** Other fragments belong to other parts of the page. */
  const isView = (hash) => hash.includes("=");

  // ---- The section ----------------------------------------------------------------------------------------

  function browse(section) {
    const find = (selector) => section.querySelector(selector);
    const data = unpack(JSON.parse(find("script[type='application/json']").textContent));
    const form = find("form"), bar = find(".bar"), results = find(".results"), number = find("[name=page]");
    let found = [], page = 0, drawing = 0, timer = 0;

    /** The state of the form; a field that it lacks has its default. */
    function readForm() {
      const value = (name, otherwise) => form.elements[name]?.value ?? otherwise;
      const boxes = [...form.querySelectorAll("[name=without]")];
      return {
        text: fold(value("q", "").trim()), gold: value("gold", ""), outcome: value("outcome", ""),
        by: value("by", ""), says: value("says", ""), sort: value("sort", ""), size: Number(value("size", "5")),
        overlap: Number(value("overlap", "100")), differ: Boolean(form.elements.differ?.checked),
        marked: Boolean(form.elements.marked?.checked),
        methods: boxes.map((box, at) => (box.checked ? at : -1)).filter((at) => at >= 0),
      };
    }

    function drawCount(size) {
      const first = page * size, last = Math.min(found.length, first + size), all = data.examples.length;
      const total = `${count(all)} text${all === 1 ? "" : "s"}`;
      const some = found.length < all ? `${count(found.length)} of ${total} found` : total;
      find(".count").textContent = found.length > size ? `${some} · ${count(first + 1)}–${count(last)} shown` : some;
    }

    function drawPager(pages) {
      find(".pages").textContent = count(pages);
      number.max = pages;
      number.value = page + 1;
      find(".previous").setAttribute("aria-disabled", page === 0);
      find(".next").setAttribute("aria-disabled", page === pages - 1);
    }

    function nothing() {
      const button = make("button", "", "Reset the filters");
      button.type = "button";
      button.addEventListener("click", () => { form.reset(); form.elements.q.focus(); });
      return make("div", "empty", make("p", "", "No text matches all of these filters."), button);
    }

    /** Draws the cards of one page, a few at a time, so that long texts do not block the browser. */
    function drawCards(examples, methods) {
      const now = ++drawing;
      let at = 0;
      function more() {
        if (now !== drawing) return; // another view has been chosen
        const end = performance.now() + MOMENT;
        do results.append(card(data, examples[at++], methods)); while (at < examples.length && performance.now() < end);
        results.setAttribute("aria-busy", at < examples.length);
        if (at < examples.length) setTimeout(more);
      }
      results.replaceChildren(...(examples.length ? [] : [nothing()]));
      results.setAttribute("aria-busy", false);
      if (examples.length) more();
    }

    function draw() {
      const { size, methods } = readForm(), pages = Math.max(1, Math.ceil(found.length / size));
      page = Math.min(Math.max(0, page), pages - 1);
      drawCards(found.slice(page * size, (page + 1) * size), methods);
      drawCount(size);
      drawPager(pages);
      remember();
    }

    function update(to = 0) {
      const slider = form.elements.overlap, state = readForm();
      if (slider) {
        const says = state.overlap < 100 ? `≤ ${percent(state.overlap)}` : "any";
        find(".limit").textContent = says;
        slider.setAttribute("aria-valuetext", says);
      }
      found = select(data, state);
      page = to;
      draw();
    }

    /** Puts the view into the address, so that it can be linked; fails silently where there is none. */
    function remember() {
      clearTimeout(timer);
      timer = setTimeout(() => {
        const params = address(form, page);
        if (!params && !isView(location.hash)) return;
        const target = params ? `#${params}` : location.pathname + location.search;
        try { history.replaceState(null, "", target); } catch { /* such as in a sandboxed frame */ }
      }, PAUSE);
    }

    function turn(to) {
      const before = page;
      page = to;
      draw();
      if (page !== before && bar.getBoundingClientRect().top <= 0) results.scrollIntoView();
    }

    /** The arrow keys turn pages, except inside a field. */
    function arrow(event) {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.defaultPrevented) return;
      if (event.target.closest("input, select, textarea, [contenteditable]")) return;
      const box = section.getBoundingClientRect(), seen = box.top < innerHeight && box.bottom > 0;
      if (section.contains(event.target) || (event.target === document.body && seen)) turn(page + step);
    }

    /** Scrolls a long text in all views of a card together. */
    function scrollTogether({ target }) {
      if (!target.classList?.contains("long")) return;
      const at = (box) => [...box.parentNode.children].indexOf(box);
      for (const other of target.closest(".card").querySelectorAll(".long"))
        if (other !== target && at(other) === at(target)) other.scrollTop = target.scrollTop;
    }

    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", () => update());
    form.addEventListener("reset", () => setTimeout(update)); // the fields change after this event
    number.addEventListener("change", () => turn((parseInt(number.value, 10) || 1) - 1));
    find(".previous").addEventListener("click", () => turn(page - 1));
    find(".next").addEventListener("click", () => turn(page + 1));
    results.addEventListener("scroll", scrollTogether, true);
    document.addEventListener("keydown", arrow);
    addEventListener("hashchange", () => isView(location.hash) && update(restore(form, location.hash.slice(1))));

    form.hidden = bar.hidden = false;
    const linked = isView(location.hash);
    update(restore(form, linked ? location.hash.slice(1) : ""));
    if (linked) section.scrollIntoView();
  }

  const begin = () => document.querySelectorAll("section.browser").forEach(browse);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
})();
