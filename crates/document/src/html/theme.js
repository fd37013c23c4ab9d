"use strict";
/* On every page: what needs a script is shown, and the colours can be switched. */
{
  const root = document.documentElement;
  root.classList.add("js");
  const button = document.getElementById("theme");
  const isDark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const asked = new URLSearchParams(location.search).get("theme") || location.hash.slice(1);
  if (asked === "dark" || asked === "light") root.dataset.theme = asked;
  const name = () => { button.textContent = isDark() ? "Light" : "Dark"; button.title = `Switch to ${button.textContent.toLowerCase()} colours`; };
  button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; name(); });
  name();
}
