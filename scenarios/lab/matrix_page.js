addEventListener("hashchange", () => {
  const run = document.getElementById(location.hash.slice(1));
  if (run) { run.open = true; run.scrollIntoView(); }
});
