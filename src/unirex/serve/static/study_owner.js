// The owner's page: who is how far, and the way to the report.
(() => {
  const { make, count } = dom;
  const place = document.getElementById("study-owner");
  const EVERY = 15000; // milliseconds between two looks
  const COLUMNS = ["Annotator", "Answered", "", "State"];
  let timer = null;

  function show(title, ...children) {
    const heading = make("h1", "", title);
    place.replaceChildren(make("header", "", make("p", "eyebrow", "unirex · User study"), heading), ...children);
  }

  function alertBox(message) {
    const made = make("div", "", message);
    made.setAttribute("role", "alert");
    return made;
  }

  function enter(message = "") {
    clearTimeout(timer);
    const input = make("input");
    Object.assign(input, { type: "password", id: "key", autocomplete: "off" });
    const label = make("label", "", "Key");
    label.htmlFor = "key";
    const go = make("button", "primary", "Show");
    const alert = alertBox(message);
    const form = make("form", "card enter", label, input, go);
    form.addEventListener("submit", (event) => { event.preventDefault(); open(input.value); });
    show("Progress of the study", make("p", "lead", "Enter the key that the server was started with."), form, alert);
    input.focus();
  }

  async function open(key) {
    try {
      draw(await live.ask("/owner/session", { key }));
    } catch (error) {
      enter(error.message);
    }
  }

  function draw({ title, people }) {
    const head = make("tr", "", ...COLUMNS.map(headed));
    const body = people.map(row);
    const table = make("table", "scores people", make("thead", "", head), make("tbody", "", ...body));
    const report = make("a", "button", "Report");
    report.href = "/owner/report";
    const out = make("button", "quiet", "Sign out");
    out.addEventListener("click", () => live.ask("/owner/leave", {}).then(() => enter(), (error) => enter(error.message)));
    const done = people.filter((person) => person.questions && person.answered === person.questions).length;
    show(
      title,
      make("p", "lead", `${count(done)} of ${count(people.length)} people have answered everything.`),
      make("div", "wide", table),
      make("div", "row", report, out),
    );
    clearTimeout(timer);
    timer = setTimeout(look, EVERY);
  }

  function headed(name) {
    if (!name) return make("td");
    const made = make("th", "", name);
    made.scope = "col";
    return made;
  }

  function row({ name, answered, questions, state }) {
    const who = make("th", "", name);
    who.scope = "row";
    const line = make("progress");
    Object.assign(line, { max: questions, value: answered });
    line.setAttribute("aria-label", `${name}: answered`);
    return make("tr", "", who, make("td", "", `${count(answered)} of ${count(questions)}`), make("td", "", line), make("td", "", state));
  }

  async function look() {
    try {
      draw(await live.ask("/owner/progress"));
    } catch (error) {
      if (error.status === 401) enter();
      else {
        place.querySelector("[role=alert]")?.remove();
        place.append(alertBox(error.message));
        timer = setTimeout(look, EVERY);
      }
    }
  }

  const key = location.hash.slice(1);
  if (key) history.replaceState(null, "", location.pathname);
  if (key) open(key);
  else look();
})();
