// Light or dark, before the first paint: a classic script, because modules run too late for that.
(() => {
  const KEY = "deepsteiner-theme";
  const NAMES = { auto: "Auto", light: "Light", dark: "Dark" };
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let choice = "auto";
  try {
    choice = localStorage.getItem(KEY) ?? "auto";
  } catch {
    // Storage may be forbidden: the choice then lasts as long as the page.
  }

  const apply = () => {
    const theme = choice === "auto" ? (dark.matches ? "dark" : "light") : choice;
    document.documentElement.dataset.theme = theme;
  };
  dark.addEventListener("change", apply);
  apply();

  addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const show = () => {
      button.querySelector("span").textContent = NAMES[choice];
      button.setAttribute("aria-label", `Colours: ${NAMES[choice]}`);
    };
    show();
    button.addEventListener("click", () => {
      const order = Object.keys(NAMES);
      choice = order[(order.indexOf(choice) + 1) % order.length];
      try {
        localStorage.setItem(KEY, choice);
      } catch {
        // as above
      }
      apply();
      show();
    });
  });
})();
