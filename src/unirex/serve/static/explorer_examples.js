// The examples of the server's dataset: listed, filtered by what systems predict, which is asked as needed.
const explorerExamples = (() => {
  const { make, makeAuto } = dom;
  const SHOWN = 50; // entries of the list that are drawn at first, and by each further step

  /**
   * Fills the section. `ask` asks the server, `models` names the systems that are compared, `choose` is called
   * with a whole example, `fail` with an error.
   */
  async function start(section, { ask, models, choose, fail }) {
    const find = (selector) => section.querySelector(selector);
    const list = find("#list"), filter = find("[name=filter]"), words = find("[name=words]"), more = find("#more");
    const heads = [], predicted = new Map(); // of each system, the labels in the order of the examples
    let shown = SHOWN, run = 0, current = null;

    async function load() {
      let answer;
      do {
        answer = await ask(`examples?start=${heads.length}`);
        heads.push(...answer.examples);
      } while (answer.examples.length && heads.length < answer.total);
      section.hidden = !heads.length;
      find("#dataset").textContent = `${answer.name ?? ""} (${dom.count(heads.length)})`;
    }

    const labels = (number) => models().map((model) => predicted.get(model)?.[number] ?? null).filter((label) => label !== null);
    const PASSES = {
      all: () => true,
      wrong: ({ number, label }) => label !== null && labels(number).some((found) => !explorerView.same(found, label)),
      apart: ({ number }) => labels(number).some((found, _, all) => !explorerView.same(found, all[0])),
    };

    /** Asks for predictions batch by batch, until all are known or another filter is chosen. */
    async function predict(now) {
      for (const model of models()) {
        if (!predicted.has(model)) predicted.set(model, []);
        const known = predicted.get(model);
        while (known.length < heads.length) {
          const answer = await ask("examples/predictions", { model, start: known.length });
          if (answer.start === known.length) known.push(...answer.labels);
          if (now !== run) return;
          draw();
        }
      }
    }

    function entry(head) {
      const facts = [head.id, head.label === null ? "" : explorerView.named(head.label), head.marked ? "marked" : ""];
      const found = [...new Set(models())].filter((model) => (predicted.get(model)?.[head.number] ?? null) !== null)
        .map((model) => `${model}: ${explorerView.named(predicted.get(model)[head.number])}`);
      const button = makeAuto("button", "", head.head, makeAuto("span", "fine", [...facts, ...found].filter(Boolean).join(" · ")));
      button.type = "button";
      button.dataset.number = head.number;
      button.setAttribute("aria-current", head.number === current);
      return make("li", "", button);
    }

    function draw() {
      const sought = words.value.trim().toLowerCase();
      const matching = heads.filter((head) => PASSES[filter.value](head) && head.head.toLowerCase().includes(sought));
      const focused = document.activeElement?.dataset?.number;
      list.replaceChildren(...matching.slice(0, shown).map(entry));
      if (focused !== undefined) list.querySelector(`[data-number="${focused}"]`)?.focus();
      more.hidden = matching.length <= shown;
      const known = Math.min(...models().map((model) => predicted.get(model)?.length ?? 0));
      const waits = filter.value !== "all" && known < heads.length ? `; ${dom.count(known)} of ${dom.count(heads.length)} predicted` : "";
      find("#found").textContent = `${dom.count(matching.length)} found${waits}`;
    }

    async function refresh() {
      const now = ++run;
      shown = SHOWN;
      draw();
      try { if (filter.value !== "all") await predict(now); } catch (error) { fail(error); }
    }

    async function pick(number) {
      current = number;
      const whole = await ask(`examples/${number}`);
      draw();
      choose(whole);
    }

    filter.addEventListener("change", refresh);
    words.addEventListener("input", draw);
    more.addEventListener("click", () => { shown += SHOWN; draw(); });
    list.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) pick(Number(button.dataset.number)).catch(fail);
    });
    await load();
    draw();
    return { refresh, whole: (number) => ask(`examples/${number}`) };
  }

  return { start };
})();
