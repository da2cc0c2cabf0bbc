// Draws the answer of one system. Places in texts are counted in characters, as the server counts them.
const explorerView = (() => {
  const { make, makeAuto, letter, percent, paragraph } = dom;
  const LEVELS = 8; // as marked_text.py
  const AGAINST = 3; // units against the label that are named, as explanation.py
  const AS_MANY = 12; // words of a list that are named

  const points = (difference) => `${difference < 0 ? "−" : "+"}${(100 * Math.abs(difference)).toFixed(1)}`;
  const share = (probability) => percent(100 * probability, 1);
  const figure = (value) => (Math.abs(value) < 0.0005 ? "0.000" : value.toFixed(3).replace("-", "−"));
  const listed = (values) => (Array.isArray(values) ? values : [values]).map(String);

  /** An answer as people read it: a label, several, or the letter of a choice with its text. */
  function named(answer, choices) {
    const names = listed(answer).map((label) => {
      const at = (choices ?? []).findIndex((_, number) => letter(number) === label);
      return at < 0 ? label : `${label} · ${choices[at]}`;
    });
    return names.join(", ") || "no label";
  }

  const same = (one, other) => JSON.stringify(listed(one).sort()) === JSON.stringify(listed(other).sort());

  /** The explanation and the figures at a budget; a system that has only one budget has no other. */
  function at(result, budget) {
    const found = result.explanations.findIndex((explanation) => explanation.budget === budget);
    const place = Math.max(0, found);
    return [result.explanations[place], result.faithfulness?.[place] ?? null];
  }

  const unitsOf = (explanation) =>
    ({ word: explanation.words, token: explanation.tokens, sentence: explanation.sentences })[explanation.unit];

  function level(score, top) {
    if (!(score > 0)) return 0;
    return score >= top ? LEVELS : Math.max(1, Math.round((LEVELS * score) / top));
  }

  function against(explanation) {
    if (!explanation.signed) return [];
    const below = unitsOf(explanation).filter((unit) => unit.score < 0 && !unit.selected);
    return below.sort((one, other) => one.score - other.score).slice(0, AGAINST);
  }

  /** The part of the request that a segment of an explanation is: the chosen choice stands after the texts. */
  function partOf(explanation, segment) {
    const { choices, segments } = explanation;
    if (!choices || segment < segments.length - 1) return segment;
    const label = String(explanation.target ?? explanation.label);
    return segments.length - 1 + choices.findIndex((_, number) => letter(number) === label);
  }

  /** The text with its marks; every unit can be chosen, and the arrow keys go from one to the next. */
  function passage(explanation, gold) {
    const units = unitsOf(explanation), top = Math.max(0, ...units.map((unit) => unit.score));
    const opposed = new Set(against(explanation));
    const paragraphs = explanation.segments.map((text, segment) => {
      const places = live.units(text), part = partOf(explanation, segment);
      const words = units.filter((unit) => unit.segment === segment).map((unit) => ({
        start: places[unit.start], end: places[unit.end], level: level(unit.score, top), selected: unit.selected, unit,
      }));
      const marks = (gold?.[segment] ?? []).map(([start, end]) => [places[start], places[end]]);
      return paragraph(text, words, marks, (piece, { unit }, first) => {
        piece.dataset.word = `${part}:${unit.start}:${unit.end}`;
        piece.title = `score ${unit.score.toPrecision(3)}`;
        if (opposed.has(unit)) piece.classList.add("against-word");
        if (!first) return;
        piece.setAttribute("role", "button");
        piece.setAttribute("aria-pressed", "false");
        piece.tabIndex = -1;
      });
    });
    const made = make("div", "passage", ...paragraphs);
    made.setAttribute("role", "group");
    made.setAttribute("aria-label", "Text; arrow keys go from word to word, Enter drops one");
    const first = made.querySelector("[role=button]");
    if (first) first.tabIndex = 0; // one stop of the Tab key for all words
    return made;
  }

  /** Shows which words are dropped, without drawing anew: the focus stays where it is. */
  function strike(body, dropped) {
    for (const piece of body.querySelectorAll("[data-word]")) {
      const gone = dropped.has(piece.dataset.word);
      piece.classList.toggle("dropped", gone);
      if (piece.hasAttribute("aria-pressed")) piece.setAttribute("aria-pressed", gone);
    }
  }

  /** One row of bars: a name, a share from 0 to 1. */
  function bar(name, value, className = "") {
    const fill = make("span", "fill"), track = make("span", "track", fill);
    fill.style.width = `${100 * value}%`;
    return make("div", className, makeAuto("dt", "", name), make("dd", "", track, make("span", "value", share(value))));
  }

  function bars(result, choices) {
    const chosen = listed(result.label);
    const rows = result.probabilities.map(({ label, probability }) =>
      bar(named(label, choices), probability, chosen.includes(String(label)) ? "predicted" : ""));
    return make("dl", "bars", ...rows);
  }

  function verdict(result, example) {
    const probability = (label) => result.probabilities.find((entry) => String(entry.label) === String(label))?.probability;
    const made = make("p", "verdict", makeAuto("span", "chip", named(result.label, result.explanations[0].choices)));
    const only = listed(result.label);
    if (only.length === 1) made.append(make("span", "muted", share(probability(only[0]))));
    if (example && example.label !== null) {
      const right = same(example.label, result.label);
      made.append(make("span", right ? "right" : "wrong", right ? "✓ correct" : "✗ wrong"));
      made.append(makeAuto("span", "chip gold-chip", named(example.label, example.choices)), make("span", "muted", "gold label"));
    }
    return made;
  }

  function words(units) {
    const texts = units.slice(0, AS_MANY).map((unit) => unit.text);
    return texts.length ? texts.join(" · ") + (units.length > AS_MANY ? " …" : "") : "nothing";
  }

  function line(title, text) {
    return makeAuto("p", "fine", make("strong", "", `${title}: `), text);
  }

  const beside = (floor, name) => (floor ? ` (random ${figure(floor[name])})` : "");

  /** What is marked, in words: for readers without colours, and for screen readers. */
  function lists(explanation) {
    const size = explanation.tokens.filter((token) => token.selected).length, all = explanation.tokens.length;
    const made = [line("Rationale", `${words(explanation.spans)} (${size} of ${all} tokens)`)];
    const opposed = against(explanation);
    if (opposed.length) made.push(line("Against", words(opposed)));
    if (explanation.unfilled)
      made.push(make("p", "fine", `Smaller than asked for by ${explanation.unfilled} tokens: no other speaks for the label.`));
    return made;
  }

  function notes(explanation, info) {
    const made = [];
    const asked = explanation.target !== null && !same(explanation.target, explanation.label);
    if (asked || explanation.contrast !== null) {
      const rather = explanation.contrast === null ? "" : ` rather than for ${explanation.contrast}`;
      made.push(makeAuto("p", "fine", `Reasons for ${named(explanation.target, explanation.choices)}${rather}.`));
    }
    if (explanation.truncated)
      made.push(make("p", "warning fine", `Cut: ${dom.count(explanation.truncated)} tokens were not read; this system reads ${dom.count(info.max_length)}.`));
    if (info.truncation === "windows")
      made.push(make("p", "fine", `Texts longer than ${dom.count(info.window)} tokens are read in overlapping windows.`));
    return made;
  }

  /** A text with only some of its tokens; a gap stands for each run of the others. */
  function remains(title, explanation, stays) {
    const made = makeAuto("p", "cut", make("strong", "fine", `${title}: `));
    explanation.segments.forEach((text, segment) => {
      if (segment) made.append("\n");
      const places = live.units(text);
      let done = 0, gap = false;
      for (const token of explanation.tokens.filter((found) => found.segment === segment)) {
        const [start, end] = [places[token.start], places[token.end]];
        if (stays(token)) {
          if (start > done) made.append(text.slice(done, start));
          if (end > done) made.append(text.slice(Math.max(start, done), end));
          gap = false;
        } else if (!gap) {
          made.append(text.slice(done, start), make("span", "gap", "[…]"));
          gap = true;
        }
        done = Math.max(done, end);
      }
    });
    return made;
  }

  function faithfulness(explanation, measured, info) {
    const { floor, probability } = measured, fromRationale = info.predicts_from === "rationale";
    const label = named(explanation.target ?? listed(explanation.label)[0] ?? explanation.label, explanation.choices);
    const rows = [bar("whole text", probability), bar(fromRationale ? "no text" : "rationale removed", measured.without_rationale)];
    if (floor && !fromRationale) rows.push(bar("random removed", floor.without_rationale, "random"));
    rows.push(bar("rationale alone", measured.rationale_alone));
    if (floor) rows.push(bar("random alone", floor.rationale_alone, "random"));
    const made = make("div", "part", makeAuto("h4", "", `How probable is ${label}?`), make("dl", "bars", ...rows));
    made.append(make("p", "figures",
      "Comprehensiveness ↑ ", make("strong", "comp", figure(measured.comprehensiveness)), beside(floor, "comprehensiveness"),
      " · sufficiency ↓ ", make("strong", "suff", figure(measured.sufficiency)), beside(floor, "sufficiency")));
    if (floor) made.append(make("p", "fine", `Random: the mean over ${floor.draws} draws of as many tokens as the rationale has.`));
    if (!fromRationale) made.append(remains("Removed", explanation, (token) => !token.selected));
    made.append(remains("Alone", explanation, (token) => token.selected));
    return made;
  }

  /** Changes of probabilities, those of one point in a thousand or more. */
  function changes(before, after) {
    const found = after.flatMap(({ label, probability }) => {
      const old = before.find((entry) => String(entry.label) === String(label))?.probability;
      if (old === undefined || Math.abs(probability - old) < 0.0005) return [];
      const change = make("span", probability < old ? "down" : "up", `${label} ${points(probability - old)}`);
      return [makeAuto("li", "", change, ` (${share(old)} → ${share(probability)})`)];
    });
    return make("ul", "changes", ...(found.length ? found : [make("li", "", "no probability changes")]));
  }

  /** Whether the label is another one now. */
  function turned(before, after) {
    const [then, now] = [named(before.label), named(after.label)];
    return makeAuto("p", "fine", then === now ? `Still ${now}.` : make("strong", "wrong", `${then} → ${now}`));
  }

  /** The texts of one list that are not in another, each as often as it is missing there. */
  function missing(units, others) {
    const left = new Map();
    for (const { text } of others) left.set(text, (left.get(text) ?? 0) + 1);
    return units.filter(({ text }) => { const count = left.get(text) ?? 0; left.set(text, count - 1); return count <= 0; });
  }

  /** What an edit of the text changed, beside the answer before. */
  function compared(before, result, budget) {
    const selected = (answer) => unitsOf(at(answer, budget)[0]).filter((unit) => unit.selected);
    const [now, then] = [selected(result), selected(before)];
    const made = make("div", "part changed", make("h4", "", "Since the text before"));
    made.append(turned(before, result), changes(before.probabilities, result.probabilities));
    made.append(line("Newly in the rationale", words(missing(now, then))), line("No longer", words(missing(then, now))));
    return made;
  }

  /** What is predicted without the dropped words. */
  function dropping(result, { texts, answer, problem }) {
    const made = make("div", "part without", makeAuto("h4", "", `Without ${texts.map((text) => `“${text}”`).join(" ")}`));
    if (problem) made.append(make("p", "warning", problem));
    else if (!answer) made.append(make("p", "fine", "…"));
    else made.append(turned(result, answer), changes(result.probabilities, answer.probabilities));
    return made;
  }

  /** The whole answer of a system. */
  function draw({ result, before, info, budget, example }) {
    const [explanation, measured] = at(result, budget);
    const gold = example?.rationale ?? null;
    const made = make("div", "answer", verdict(result, example), bars(result, explanation.choices));
    made.append(...notes(explanation, info), passage(explanation, gold), ...lists(explanation), make("div", "drops"));
    if (measured) made.append(faithfulness(explanation, measured, info));
    if (before) made.append(compared(before, result, budget));
    return made;
  }

  return { draw, dropping, strike, at, named, share, listed, same };
})();
