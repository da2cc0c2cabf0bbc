// Takes what the page shows elsewhere: to the clipboard, or to a file where there is no clipboard.
const explorerCopy = (() => {
  const { make } = dom;
  const MARGIN = 16, LARGEST = 8000; // pixels of an image
  const SHOWN = ["backgroundColor", "color", "textDecoration", "borderTop", "fontWeight"]; // of copied HTML
  const CLEAR = "rgba(0, 0, 0, 0)";

  function save(content, name) {
    const link = make("a");
    link.href = URL.createObjectURL(content);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    return `Saved as ${name}.`;
  }

  async function text(content, name, type) {
    try {
      await navigator.clipboard.writeText(content);
      return "Copied.";
    } catch { // no permission, or not a secure context
      return save(new Blob([content], { type }), name);
    }
  }

  // ---- HTML -----------------------------------------------------------------------------------------------

  /** A copy of marked text whose looks are its own. */
  function inlined(node) {
    if (node.nodeType === Node.TEXT_NODE) return node.textContent;
    const style = getComputedStyle(node), made = make(node.tagName.toLowerCase());
    made.dir = node.dir;
    for (const name of SHOWN) {
      const value = style[name];
      if (name === "borderTop" ? node.classList.contains("gold-mark") : value !== CLEAR) made.style[name] = value;
    }
    made.append(...[...node.childNodes].map(inlined));
    return made;
  }

  /** The shown answers as HTML that needs no style sheet. */
  function html(views) {
    const parts = [...views].flatMap((view) => [
      inlined(view.querySelector("h3")), ...[...view.querySelectorAll(".verdict, .text, .answer > .fine")].map(inlined),
    ]);
    const box = make("div", "", ...parts);
    box.style.cssText = `font-family: sans-serif; line-height: 1.9; background: ${getComputedStyle(views[0]).backgroundColor}`;
    return box.outerHTML;
  }

  // ---- Image ----------------------------------------------------------------------------------------------
  // The browser has laid everything out; each word is painted where it stands.

  function paintWord(pen, word, box, { style, mark }) {
    pen.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    pen.fillStyle = pen.strokeStyle = style.color;
    pen.direction = style.direction;
    pen.textAlign = "left";
    const line = box.top + pen.measureText(word).fontBoundingBoxAscent;
    pen.fillText(word, box.left, line);
    const stroke = (y, dashes) => {
      pen.setLineDash(dashes);
      pen.lineWidth = 2;
      pen.beginPath(); pen.moveTo(box.left, y); pen.lineTo(box.right, y); pen.stroke();
    };
    if (mark?.matches(".dropped")) stroke(line - 5, []);
    else if (mark?.matches("mark")) stroke(line + 4, []);
    else if (mark) stroke(line + 4, [2, 2]);
  }

  function paintText(pen, node) {
    const parent = node.parentElement, look = { style: getComputedStyle(parent), mark: parent.closest("mark, .against-word, .dropped") };
    const range = document.createRange(), content = node.textContent;
    const boxes = (from, to) => { range.setStart(node, from); range.setEnd(node, to); return range.getClientRects(); };
    for (const { 0: word, index } of content.matchAll(/\S+/gu)) {
      const found = boxes(index, index + word.length);
      if (found.length === 1) paintWord(pen, word, found[0], look);
      else { // broken over lines
        let place = index;
        for (const character of word) {
          const [box] = boxes(place, (place += character.length));
          if (box) paintWord(pen, character, box, look);
        }
      }
    }
  }

  function paintBox(pen, element, style) {
    for (const box of element.getClientRects()) {
      if (style.backgroundColor !== CLEAR) { pen.fillStyle = style.backgroundColor; pen.fillRect(box.x, box.y, box.width, box.height); }
      if (!element.classList.contains("gold-mark")) continue;
      pen.strokeStyle = style.borderTopColor;
      pen.lineWidth = 3;
      pen.setLineDash([3, 3]);
      pen.beginPath(); pen.moveTo(box.left, box.top + 1); pen.lineTo(box.right, box.top + 1); pen.stroke();
    }
  }

  function paint(pen, element) {
    const style = getComputedStyle(element), box = element.getBoundingClientRect();
    if (style.display === "none" || element.matches(".head button")) return;
    paintBox(pen, element, style);
    pen.save();
    if (style.overflowY !== "visible") { pen.beginPath(); pen.rect(box.x, box.y, box.width, box.height); pen.clip(); }
    for (const child of element.childNodes) {
      if (child.nodeType === Node.TEXT_NODE) paintText(pen, child);
      else if (child.nodeType === Node.ELEMENT_NODE) paint(pen, child);
    }
    pen.restore();
  }

  /** A picture of the answers as the page shows them, without what is there to be clicked. */
  function image(element) {
    element.classList.add("bare");
    try { return painted(element); } finally { element.classList.remove("bare"); }
  }

  function painted(element) {
    const box = element.getBoundingClientRect(), canvas = make("canvas");
    const width = box.width + 2 * MARGIN, height = box.height + 2 * MARGIN;
    const scale = Math.min(2, LARGEST / Math.max(width, height));
    canvas.width = Math.ceil(width * scale);
    canvas.height = Math.ceil(height * scale);
    const pen = canvas.getContext("2d");
    pen.fillStyle = getComputedStyle(document.body).backgroundColor;
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.scale(scale, scale);
    pen.translate(MARGIN - box.left, MARGIN - box.top);
    paint(pen, element);
    return canvas;
  }

  async function picture(element) {
    const content = await new Promise((done) => image(element).toBlob(done, "image/png"));
    try {
      await navigator.clipboard.write([new ClipboardItem({ "image/png": content })]);
      return "Copied.";
    } catch {
      return save(content, "unirex.png");
    }
  }

  return { text, html, image, picture };
})();
