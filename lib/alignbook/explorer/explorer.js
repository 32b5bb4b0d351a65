// The explorer's page: draws what the kernel sends (widget.py) and computes nothing of its
// own. One word is pinned: its maps are shown, and it is the one that is exchanged. A word that is
// hovered over shows its maps, which are here already, until the pointer leaves the words.

const CANVAS = 256; // pixels of a picture's side on the page
const YELLOW = "#F0E442", INK = "#222222";

/** An element with attributes, listeners (on…) and children. */
function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

const number = (x, digits = 3) => x.toFixed(digits).replace("-", "−");
const signed = (x) => (x >= 0 ? "+" : "") + number(x);
const percent = (x) => `${Math.round(100 * x)} %`;
const count = (n) => n.toLocaleString("en");

/** A user's text with the characters named that would act: controls, orders to write backwards. */
const plain = (text) => text.replace(
  /[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu,
  (found) => `\\u${found.codePointAt(0).toString(16).padStart(4, "0")}`,
);

/** Write a live region's text if it is new: else a screen reader would say it again. */
function tell(region, text) {
  if (region.textContent !== text) region.textContent = text;
}

/** A word shaded by what it adds, as a share of the largest; the number stands in its title. */
function shaded(word, part, largest) {
  const share = Math.max(0, part) / (largest || 1);
  return h("span", {
    class: "ab-part", title: `adds ${number(part)} to the score`,
    style: `background: rgba(0, 114, 178, ${(0.5 * share).toFixed(3)})`,
  }, word);
}

/** A menu that stays where it is, and keeps its focus, while what it offers changes. */
function menu(pick) {
  const select = h("select", { onchange: () => pick(select.value) }), name = h("span");
  const fill = (label, values, chosen) => {
    name.textContent = label;
    if ([...select.options].map((each) => each.value).join("\n") !== values.join("\n")) {
      select.replaceChildren(...values.map((value) => h("option", { value }, String(value))));
    }
    select.value = String(chosen);
  };
  return { element: h("label", { class: "ab-field" }, name, select), fill };
}

function render({ model, el }) {
  const root = h("section", {
    class: "ab-explorer", "aria-label": "Explorer of captions and pictures",
    "data-lm-suppress-shortcuts": "true", // keys typed here are none of the notebook's
  });
  const top = h("div", { class: "ab-row" });
  const asking = h("div", { class: "ab-row" });
  const own = h("div", { class: "ab-own" });
  // Live regions are heard only if they stood in the page before their text came: never hidden.
  const told = h("p", { class: "ab-told", role: "status", "aria-live": "polite" });
  const heard = h("p", { class: "ab-heard", role: "status", "aria-live": "polite" });
  const words = h("div", {
    class: "ab-words", role: "radiogroup", "aria-label": "Words of the caption",
    onmouseleave: () => over(null),
  });
  const swapping = h("div", { class: "ab-row ab-swap" });
  const panels = h("div", { class: "ab-panels" });
  const foot = h("p", { class: "ab-foot" });
  const hint = h("p", { class: "ab-scale" },
    "Hover over a word to see its maps. Click a word to pin it: its maps stay, and you can "
    + "exchange it.");
  root.append(top, asking, own, told, hint, words, swapping, panels, foot, heard);
  el.append(root);

  let drawn = []; // of each panel: what `look` updates when another word is looked at
  let hovered = null; // place of the word under the pointer
  const pictures = new Map(); // data URL → loaded image

  const busy = (yes) => {
    root.classList.toggle("ab-busy", yes);
    root.setAttribute("aria-busy", String(yes));
    if (yes) foot.textContent = "Computing … a model that is new here takes some seconds.";
  };
  const move = (changes) => {
    const other = (name) => JSON.stringify(model.get(name)) !== JSON.stringify(changes[name]);
    const moved = Object.keys(changes).filter(other);
    if (!moved.length) return;
    if (moved.some((name) => name !== "word")) busy(true); // a word alone has no answer
    for (const name of moved) model.set(name, changes[name]);
    model.save_changes();
  };
  const take = (changes) => move({ swap: [], word: 0, ...changes });
  const browse = (image) => take({ image, caption: null });

  const data = menu((name) => take({ data: name, caption: null, image: 0 }));
  const seed = menu((number) => move({ seed: Number(number) }));
  const left = menu((method) => move({ left: method }));
  const right = menu((method) => move({ right: method }));
  top.append(data.element, seed.element, left.element, right.element);

  function fields() {
    const offers = model.get("offers"), labels = offers[model.get("data")] || {};
    data.fill("data set", Object.keys(offers), model.get("data"));
    const seeds = ["left", "right"].map((side) => labels[model.get(side)] || []);
    seed.fill("seed", seeds[0].filter((n) => seeds[1].includes(n)), model.get("seed"));
    left.fill("left", Object.keys(labels), model.get("left"));
    right.fill("right", Object.keys(labels), model.get("right"));
  }

  const other = menu((word) => {
    if (root.getAttribute("aria-busy") === "true") return look(); // the menu as it was
    const place = pinned(), [swapped = place] = model.get("swap");
    const words = model.get("shown").words.join(" ");
    move({
      swap: word === "–" ? [] : [place, word],
      caption: swapped === place ? model.get("caption") : words, // exchanges elsewhere stay
    });
  });
  const undo = h("button", {
    onclick: () => {
      const [place] = model.get("swap"); // none: undone already, and not yet answered
      if (place !== undefined) move({ swap: [], word: place });
    },
  }, "undo the last exchange");
  const nothing = h("span", { class: "ab-scale" });
  swapping.append(other.element, nothing, undo);

  const typed = h("input", {
    type: "text", class: "ab-caption", maxlength: 600, spellcheck: false,
    "aria-label": "Caption: type one and press Enter",
    placeholder: "type a caption and press Enter",
    onkeydown: (event) => event.key === "Enter" && type(),
  });
  const type = (image = -1) => take({ caption: typed.value, image });
  const page = h("input", {
    type: "number", min: 1, class: "ab-page", "aria-label": "Number of the picture",
    onchange: () => browse(Math.max(1, Math.round(Number(page.value) || 1)) - 1),
  });
  const of = h("span");
  const step = (by) => () => {
    const n = model.get("shown").images;
    browse((model.get("image") + by + n) % n);
  };
  asking.append(
    h("label", { class: "ab-field ab-wide" }, h("span", {}, "caption"), typed),
    h("button", {
      onclick: () => type(), title: "Turn to the picture that fits the caption best",
    }, "find its picture"),
    h("button", {
      onclick: () => type(model.get("shown").image),
      title: "Score the caption with the picture that is shown",
    }, "on this picture"),
    h("span", { class: "ab-field" }, h("span", {}, "picture"),
      h("button", { onclick: step(-1), "aria-label": "previous picture" }, "‹"), page, of,
      h("button", { onclick: step(1), "aria-label": "next picture" }, "›"),
      h("button", {
        onclick: () => browse(Math.floor(Math.random() * model.get("shown").images)),
      }, "any")),
  );

  function show() {
    const shown = model.get("shown"), focused = root.getRootNode().activeElement?.dataset?.key;
    tell(told, plain(model.get("note") || shown.notes.join(". ")));
    fields();
    typed.value = model.get("swap").length ? shown.words.join(" ") : model.get("caption") ?? "";
    page.value = shown.image + 1;
    page.max = shown.images;
    of.textContent = `of ${count(shown.images)}`;
    own.replaceChildren(
      h("span", {}, shown.captions.length ? "its captions:" : plain(shown.title || "")),
      ...shown.captions.map((text, i) => h("button", {
        class: "ab-link", "data-key": `own ${i}`,
        "aria-pressed": String(text === model.get("caption")),
        onclick: () => take({ caption: text }),
      }, plain(text))),
    );
    words.replaceChildren(...shown.words.map((word, i) => h("button", {
      class: `ab-word ${shown.unknown[i] ? "ab-unknown" : ""} `
        + (word === shown.was[i] ? "" : "ab-new"),
      title: shown.unknown[i] ? "not in the vocabulary" : "", "data-key": `word ${i}`,
      role: "radio", onmouseenter: () => over(i), onclick: () => pin(i),
      onkeydown: (event) => { // as in any group of radio buttons
        const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (!by) return;
        event.preventDefault();
        const next = (i + by + shown.words.length) % shown.words.length;
        words.children[next].focus();
        pin(next);
      },
    }, word)));
    drawn = shown.panels.map((panel, side) => panelOf(panel, side, shown));
    panels.replaceChildren(...drawn.map((each) => each.element));
    hovered = null;
    look();
    if (focused) root.querySelector(`[data-key="${focused}"]`)?.focus({ preventScroll: true });
    foot.textContent = `Computed in ${Math.round(shown.milliseconds)} ms. A caption's score is the `
      + "sum of what its words add. ✓: the picture that is shown, and its own captions.";
  }

  const pinned = () => Math.min(model.get("word"), model.get("shown").words.length - 1);

  function pin(place) {
    move({ word: place });
    over(null);
  }

  function over(place) {
    hovered = place;
    look();
  }

  /** One method's side: a picture with the map, numbers, best pictures, ranked captions. */
  function panelOf(panel, side, shown) {
    const canvas = h("canvas", { width: CANVAS, height: CANVAS, role: "img", class: "ab-canvas" });
    const line = h("p", { class: "ab-line", "data-role": "word" });
    const moved = panel.before
      ? `, ${signed(panel.score - panel.before.score)} by the exchange `
        + `(before: ${number(panel.before.score)}, ${ordinal(panel.before.rank)})`
      : "";
    const parts = panel.contributions || [], largest = Math.max(...parts, 0);
    const most = Math.max(...panel.ranked.flatMap((each) => each.contributions || []), 0);
    const element = h("div", { class: "ab-panel", "data-side": side ? "right" : "left" },
      h("h4", {}, panel.method), canvas, line,
      h("p", { class: "ab-score" }, h("strong", {}, `score ${number(panel.score)}`),
        h("span", { class: "ab-moved" }, moved),
        h("br"), `picture ${count(shown.image + 1)} comes ${ordinal(panel.rank)} of `
          + `${count(shown.images)} for this caption`),
      h("p", { class: "ab-scale" }, panel.scale),
      h("h5", {}, "What each word adds to the score"),
      parts.length
        ? h("ol", { class: "ab-parts" }, ...shown.words.map((word, i) => h("li", {},
            shaded(word, parts[i], largest), h("span", { class: "ab-small" }, number(parts[i])))))
        : h("p", { class: "ab-scale" }, "nothing by itself: the caption is one vector"),
      h("h5", {}, "Best pictures for the caption"),
      h("div", { class: "ab-top" }, ...panel.top.map((each, k) => h("button", {
        "aria-label": `picture ${each.image + 1}, place ${k + 1}, score ${number(each.score)}`,
        title: plain(each.title || ""),
        class: each.image === shown.image ? "ab-here" : "", "data-key": `${side} top ${k}`,
        onclick: () => move({ image: each.image }),
      }, each.picture ? h("img", { src: each.picture, alt: "" }) : `picture ${each.image + 1}`,
        h("span", { class: "ab-small" },
          `${each.image === shown.image ? "✓ " : ""}${number(each.score)}`)))),
      ...(panel.ranked.length ? [
        h("h5", {}, `Best captions for picture ${count(shown.image + 1)}`),
        h("p", { class: "ab-scale" }, `the best of its own comes ${ordinal(panel["own rank"])}`),
      ] : []),
      h("ol", { class: "ab-ranked" }, ...panel.ranked.map((each, k) => h("li", {},
        h("button", {
          class: "ab-link", "data-key": `${side} ranked ${k}`,
          onclick: () => take({ caption: each.words.join(" ") }),
        },
          h("span", { class: "ab-small" }, `${each.own ? "✓ " : ""}${number(each.score)} `),
          ...each.words.flatMap((word, i) => [
            each.contributions ? shaded(word, each.contributions[i], most) : word, " "]))))),
    );
    return { element, canvas, line, panel, side };
  }

  function ordinal(n) {
    const last = n % 100 > 10 && n % 100 < 14 ? 0 : n % 10;
    return count(n) + (["th", "st", "nd", "rd"][last] || "th");
  }

  /** Draw the maps of the word that is looked at, and what may stand in the pinned one's place. */
  function look() {
    const shown = model.get("shown");
    if (!shown.words) return;
    const place = Math.min(hovered ?? pinned(), shown.words.length - 1), word = shown.words[place];
    [...words.children].forEach((each, i) => {
      each.classList.toggle("ab-seen", i === place);
      each.setAttribute("aria-checked", String(i === pinned()));
      each.tabIndex = i === pinned() ? 0 : -1; // Tab goes on to the exchange
    });
    if (root.getAttribute("aria-busy") === "false") tell(heard, aloud(shown, place));
    for (const { canvas, line, panel, side } of drawn) {
      paint(canvas, shown, panel, side, place);
      if (!panel.best) {
        line.textContent = "no map: the picture is one vector";
        canvas.setAttribute("aria-label", `${panel.method}: ${line.textContent}`);
        continue;
      }
      const cosine = panel.scores[place];
      line.replaceChildren(
        h("strong", {}, `“${word}”`), ` adds ${number(panel.contributions[place])}. `,
        cosine === null ? "No region chose it."
          : `Its own score is ${number(cosine)}; the best region has `
            + `${percent(panel.shares[place])} of its attention.`);
      canvas.setAttribute("aria-label", `${panel.method}, where it looks: ${line.textContent}`);
    }
    offer(shown, pinned());
  }

  function offer(shown, place) {
    const others = shown.exchanges[place], word = shown.words[place], was = shown.was[place];
    other.fill(`exchange “${was}” for`, ["–", ...others], word === was ? "–" : word);
    other.element.hidden = !others.length;
    nothing.textContent = others.length ? ""
      : `nothing is known that could stand for “${was}”: click another word`;
    const swapped = model.get("swap").length > 0;
    if (!swapped && undo.matches(":focus")) other.element.control.focus(); // else it would be lost
    undo.hidden = !swapped;
  }

  /** What a screen reader says of the word that is looked at. */
  function aloud(shown, place) {
    const word = shown.words[place], was = shown.was[place];
    const sides = shown.panels.map((panel) => [
      `${panel.method}:`, panel.contributions ? `adds ${number(panel.contributions[place])},` : "",
      `score ${number(panel.score)}, ${ordinal(panel.rank)} of ${count(shown.images)}`,
    ].filter(Boolean).join(" "));
    return `“${word}”${word === was ? "" : ` for “${was}”`}. ${sides.join(". ")}.`;
  }

  function paint(canvas, shown, panel, side, place) {
    const url = shown.picture;
    if (!url) {
      const context = canvas.getContext("2d");
      context.clearRect(0, 0, CANVAS, CANVAS);
      context.fillStyle = INK;
      context.font = "14px sans-serif";
      context.fillText("region features without a picture", 12, CANVAS / 2);
      const best = panel.best ? `the best is region ${panel.best[place] + 1}` : "";
      context.fillText(best, 12, CANVAS / 2 + 22);
      return;
    }
    const picture = pictures.get(url) || new Image();
    if (!picture.complete || !picture.naturalWidth) {
      if (!pictures.has(url)) {
        pictures.set(url, picture);
        picture.src = url;
      }
      picture.addEventListener("load", look, { once: true });
      return;
    }
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.imageSmoothingEnabled = picture.naturalWidth > 100;
    context.drawImage(picture, 0, 0, CANVAS, CANVAS);
    if (!panel.mapped || !panel.boxes) return;
    const maps = model.get("maps"), cells = Math.sqrt(maps.byteLength / 2 / shown.words.length);
    const start = (side * shown.words.length + place) * cells * cells;
    const colours = model.get("colours"), data = context.getImageData(0, 0, CANVAS, CANVAS);
    for (let y = 0, i = 0; y < CANVAS; y++) {
      const row = start + Math.floor((y * cells) / CANVAS) * cells;
      for (let x = 0; x < CANVAS; x++, i += 4) {
        const heat = 3 * maps.getUint8(row + Math.floor((x * cells) / CANVAS));
        const light = (data.data[i] + data.data[i + 1] + data.data[i + 2]) / 3;
        const grey = (0.4 * 255 * (light + 60)) / 315;
        for (let c = 0; c < 3; c++) data.data[i + c] = grey + 0.6 * colours.getUint8(heat + c);
      }
    }
    context.putImageData(data, 0, 0);
    if (panel.scores[place] === null) return; // no region chose the word
    const [x0, y0, x1, y1] = panel.boxes[place].map((edge) => edge * CANVAS);
    for (const [colour, width] of [[INK, 6], [YELLOW, 3]]) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.strokeRect(x0 + 3, y0 + 3, x1 - x0 - 6, y1 - y0 - 6);
    }
  }

  const bar = h("div", { class: "ab-bar", role: "img", "aria-label":
    "Colours of the maps: pale, no attention in regions that cover the pixel; dark, all of it" },
    h("span", {}, "0 %"), h("i"), h("span", {}, "100 % of the word's attention"),
    h("b"), h("span", {}, "best region"));
  const colours = model.get("colours");
  const stops = [0, 64, 128, 192, 255].map((k) =>
    `rgb(${[0, 1, 2].map((c) => colours.getUint8(3 * k + c)).join(" ")})`);
  bar.querySelector("i").style.background = `linear-gradient(to right, ${stops.join(", ")})`;
  root.insertBefore(bar, panels);

  const idle = () => {
    busy(false);
    show();
  };
  model.on("change:answered", idle); // sent with all that is shown
  model.on("change:word", look); // after a pin, here or from Python
  idle();
  return () => {
    model.off("change:answered", idle);
    model.off("change:word", look);
  };
}

export default { render };
