// The page of operators: a list that a filter shortens, and the explanation of the operator that the address names.
(() => {
  const byId = (id) => document.getElementById(id);
  const filter = byId("operator-filter"), list = byId("operator-list"), count = byId("operator-count"), shown = byId("operator");
  const folder = new URL("operators/", document.currentScript.src);
  const LIMIT = 200;
  let overloads = null;
  const texts = new Map();

  const fetched = async (name) => (await fetch(new URL(name, folder))).json();
  const index = async () => (overloads ??= await fetched("index.json"));
  const escaped = (text) => text.replace(/[&<>"]/g, (letter) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[letter]);
  const link = (name) => `<a href="#${encodeURIComponent(name)}">${escaped(name)}</a>`;
  const operation = (name) => name.split(".")[0].replace(/([^_])_$/, "$1");

  async function showList() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    list.className = words.length ? "ow-schemas" : "";
    if (!words.length) {
      const operations = [...new Set((await index()).map(([name]) => operation(name)))];
      count.textContent = `${operations.length} operations`;
      list.innerHTML = operations.map((name) => `<li>${link(name)}</li>`).join("");
      return;
    }
    const rank = ([name]) => (operation(name) === words[0] || name === words[0] ? 0 : name.startsWith(words[0]) ? 1 : name.includes(words[0]) ? 2 : 3);
    const found = (await index()).filter(([, schema]) => words.every((word) => schema.toLowerCase().includes(word)));
    found.sort((left, right) => rank(left) - rank(right));
    count.textContent = found.length > LIMIT ? `${found.length} overloads; the first ${LIMIT} are shown` : `${found.length} overloads`;
    list.innerHTML = found.slice(0, LIMIT).map(([name, schema]) => `<li>${link(name)}<code>${escaped(schema.slice(name.length))}</code></li>`).join("");
  }

  // Operators in the text, such as other overloads, become links.
  function painted(text, names) {
    const classes = { "\x01": "title", "\x02": "key", "\x03": "note" };
    return escaped(text)
      .replace(/[\x01\x02\x03]/g, (style) => `<span class="ow-${classes[style]}">`)
      .replace(/\x04/g, "</span>")
      .replace(/(?<![\w.:/&])[a-z_]\w*(?:\.\w+)+(?![\w(:])/g, (name) => (names.has(name) ? link(name) : name));
  }

  function sections(text, names) {
    const [head, ...parts] = text.split(/\n\n\x01/);
    return `<pre>${painted(head, names)}</pre>` + parts.map((part) => {
      const [title, ...lines] = part.split("\n");
      return `<h3>${escaped(title.replace("\x04", ""))}</h3><pre tabindex="0">${painted(lines.join("\n").trimEnd(), names)}</pre>`;
    }).join("");
  }

  async function textOf(name, number) {
    if (!texts.has(number)) texts.set(number, await fetched(`${number}.json`));
    return texts.get(number)[name];
  }

  // One of the overloads of the operation that the address names, or that itself.
  async function show() {
    const name = decodeURIComponent(location.hash.slice(1));
    const rows = name ? (await index()).filter((row) => operation(row[0]) === operation(name)) : [];
    shown.hidden = !rows.length;
    if (!rows.length) return;
    const chosen = rows.find((row) => row[0] === name) ?? rows[0];
    const names = new Set((await index()).map((row) => row[0]));
    const others = rows.map((row) => row === chosen ? `<li><strong>${escaped(row[0])}</strong></li>` : `<li>${link(row[0])}</li>`);
    shown.innerHTML = `<h2>${escaped(chosen[0])}</h2><ul class="ow-others">${others.join("")}</ul>${sections(await textOf(chosen[0], chosen[2]), names)}`;
    shown.focus({ preventScroll: true });
    shown.scrollIntoView();
  }

  filter.addEventListener("input", showList);
  addEventListener("hashchange", show);
  showList();
  show();
})();
