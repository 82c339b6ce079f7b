"use strict";
(() => {
  const byId = (id) => document.getElementById(id);

  // Light and dark: what the system says, until the reader says otherwise.
  const root = document.documentElement;
  const theme = byId("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () =>
    root.dataset.theme ? root.dataset.theme === "dark" : system.matches;
  const nameTheme = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
  theme.hidden = false;
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    nameTheme();
  });
  system.addEventListener("change", nameTheme);
  nameTheme();

  // Sorting: by the value of a cell, not by its text; gaps last.
  const table = byId("table");
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const words = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const valueOf = (row, column, isText) => {
    const order = row.cells[column].dataset.order;
    return isText ? order : order === "" ? NaN : Number(order);
  };
  const sortBy = (column) => {
    const head = heads[column];
    const isText = head.dataset.kind === "text";
    const before = head.getAttribute("aria-sort");
    // Numbers are mostly wanted from the largest down, names and ranks from the first up.
    const first = isText || column === 0 || head.dataset.first ? "ascending" : "descending";
    const second = first === "ascending" ? "descending" : "ascending";
    const now = before === first ? second : first;
    const sign = now === "ascending" ? 1 : -1;
    const rows = [...body.rows].map((row) => [valueOf(row, column, isText), row]);
    rows.sort(([a], [b]) => {
      if (isText) return sign * words.compare(a, b);
      if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
      return sign * (a - b);
    });
    body.append(...rows.map(([, row]) => row));
    heads.forEach((one) => one.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", now);
  };
  heads.forEach((head, column) => {
    if (!head.dataset.kind) return;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    button.title = head.title;
    head.replaceChildren(button);
    button.addEventListener("click", () => sortBy(column));
  });

  // Searching: every word must be somewhere in the name.
  const search = byId("search");
  const relatedOnly = byId("related-only");
  const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const rows = [...body.rows].map((row) => [plain(row.cells[1].textContent), row]);
  const filter = () => {
    const wanted = plain(search.value).split(/\s+/).filter(Boolean);
    const isStrict = Boolean(relatedOnly && relatedOnly.checked);
    let shown = 0;
    for (const [name, row] of rows) {
      const isShown =
        wanted.every((word) => name.includes(word)) &&
        (!isStrict || row.dataset.related === "1");
      row.hidden = !isShown;
      shown += isShown ? 1 : 0;
    }
    byId("count").textContent = shown === rows.length ? `${shown} features` : `${shown} of ${rows.length} features`;
    byId("none").hidden = shown > 0;
  };
  byId("tools").hidden = false;
  byId("tools").addEventListener("submit", (event) => event.preventDefault());
  search.addEventListener("input", filter);
  if (relatedOnly) relatedOnly.addEventListener("change", filter);
  filter();

  // Details are open on paper.
  addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach((one) => { one.open = true; });
  });

  const copy = byId("copy");
  if (copy && navigator.clipboard) {
    copy.hidden = false;
    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(byId("code").textContent);
        copy.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(byId("code"));
        copy.textContent = "Press Ctrl-C";
      }
      setTimeout(() => { copy.textContent = "Copy"; }, 2000);
    });
  }
})();
