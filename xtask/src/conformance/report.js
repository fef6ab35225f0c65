// The page reads well without this: it only turns the time into a date and filters the cases.
for (const time of document.querySelectorAll("time[data-seconds]")) {
  time.textContent = new Date(Number(time.dataset.seconds) * 1000).toLocaleString();
}
const filter = document.getElementById("filter");
filter.addEventListener("input", () => {
  const words = filter.value.toLowerCase().split(/[\s_]+/).filter(Boolean);
  for (const topic of document.querySelectorAll(".cases tbody")) {
    let shown = 0;
    for (const row of topic.querySelectorAll(".case")) {
      row.hidden = !words.every((word) => row.dataset.name.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    topic.hidden = shown === 0;
  }
});
