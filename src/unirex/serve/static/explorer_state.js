// What the explorer shows, as an address that can be kept, and the text without its dropped words.
const explorerState = (() => {
  const MOST = 4; // columns
  const USUAL = 20; // per cent of the tokens
  const PLACE = /^\d+:\d+:\d+$/u; // of a dropped word: part of the text, start, end

  const empty = () => ({
    texts: [""], choices: [""], columns: [], budget: USUAL, unit: "word", target: "", contrast: "", dropped: new Set(), example: null,
  });

  /** The state as parameters of an address. */
  function address(state, { choices }) {
    const params = new URLSearchParams();
    for (const text of state.texts) params.append("text", text);
    if (choices) for (const text of state.choices) params.append("choice", text);
    for (const { model, extractor, dial } of state.columns) params.append("view", JSON.stringify([model, extractor || "", dial ?? null]));
    params.set("budget", state.budget);
    if (state.unit !== "word") params.set("unit", state.unit);
    for (const name of ["target", "contrast"]) if (state[name]) params.set(name, state[name]);
    for (const place of state.dropped) params.append("drop", place);
    if (state.example) params.set("example", state.example.number);
    return params.toString();
  }

  function column(view, models) {
    try {
      const [model, extractor, dial] = JSON.parse(view);
      return { model: String(model), extractor: String(extractor), dial: typeof dial === "number" ? dial : null };
    } catch {
      return { model: models[0].name, extractor: "", dial: null };
    }
  }

  /** The state that an address describes; `example` is a number. What it does not say is as usual. */
  function read(hash, models) {
    const params = new URLSearchParams(hash), state = empty();
    const linked = params.getAll("view").slice(0, MOST).map((view) => column(view, models));
    state.columns = linked.length ? linked : models.slice(0, 2).map(({ name }) => ({ model: name, extractor: "", dial: null }));
    if (params.has("text")) state.texts = params.getAll("text");
    if (params.has("choice")) state.choices = params.getAll("choice");
    state.budget = Number(params.get("budget")) || USUAL;
    if (["token", "sentence"].includes(params.get("unit"))) state.unit = params.get("unit");
    for (const name of ["target", "contrast"]) state[name] = params.get(name) ?? "";
    state.dropped = new Set(params.getAll("drop").filter((place) => PLACE.test(place)));
    state.example = params.has("example") ? Number(params.get("example")) || 0 : null;
    return state;
  }

  /** The places of the dropped words, in the order of the text; counted in characters, not in units. */
  function places(state) {
    const found = [...state.dropped].map((place) => place.split(":").map(Number));
    return found.sort((one, other) => one[0] - other[0] || one[1] - other[1]);
  }

  /** A part of the text without its dropped words, and without the blank that would stand twice. */
  function without(state, text, part) {
    const characters = [...text];
    for (const [own, start, end] of places(state).reverse()) {
      if (own !== part) continue;
      const blank = characters[start - 1] === " " && (characters[end] ?? " ") === " ";
      characters.splice(blank ? start - 1 : start, end - start + (blank ? 1 : 0));
    }
    return characters.join("");
  }

  function droppedTexts(state) {
    const parts = [...state.texts, ...state.choices].map((text) => [...text]);
    return places(state).map(([part, start, end]) => (parts[part] ?? []).slice(start, end).join(""));
  }

  return { MOST, USUAL, empty, address, read, without, droppedTexts };
})();
