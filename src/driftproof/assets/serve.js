// Served pages only: shows whether the page's numbers still hold, and where they do not.
(function () {
  "use strict";
  var script = document.currentScript;
  if (window.driftproofServe) return;
  window.driftproofServe = true;
  var name = script.dataset.driftproofStatus;
  var last = "";

  function element(tag, className, text) {
    var node = document.createElement(tag);
    node.className = className;
    if (text) node.textContent = text;
    return node;
  }

  function problemNode(problem) {
    var node = element("div", "driftproof-problem");
    node.setAttribute("role", "alert");
    node.append(element("strong", "", problem.where));
    node.append(document.createTextNode(" " + problem.message));
    if (problem.hint) node.append(element("p", "", problem.hint));
    if (problem.detail.length) node.append(element("pre", "", problem.detail.join("\n")));
    return node;
  }

  function show(status) {
    document.querySelectorAll(".driftproof-problem, .driftproof-banner").forEach(function (node) {
      node.remove();
    });
    (status.problems || []).slice().reverse().forEach(function (problem) {
      var block = problem.anchor && document.getElementById(problem.anchor);
      var main = document.querySelector("article") || document.body;
      if (block) block.after(problemNode(problem));
      else main.prepend(problemNode(problem));
    });
    Object.entries(status.figures || {}).forEach(function (entry) {
      var figure = document.querySelector("#" + CSS.escape(entry[0]) + " figure");
      if (figure && !figure.querySelector("svg")) figure.insertAdjacentHTML("afterbegin", entry[1]);
    });
    Object.entries(status.stamps || {}).forEach(function (entry) {
      var stamp = document.querySelector("#" + CSS.escape(entry[0]) + " > .driftproof-stamp > span");
      if (stamp) stamp.textContent = entry[1];
    });
    var text = { checking: "Verifying this page…", problems: "This page does not hold: see below." };
    if (text[status.state]) {
      var banner = element("div", "driftproof-banner", text[status.state]);
      banner.setAttribute("role", "status");
      document.body.append(banner);
    }
  }

  function poll() {
    fetch(new URL(name, location.href.split("#")[0]), { cache: "no-store" })
      .then(function (response) { return response.text(); })
      .then(function (text) {
        var key = location.pathname + text;
        if (key !== last) show(JSON.parse(text));
        last = key;
      })
      .catch(function () {})
      .then(function () { setTimeout(poll, 1000); });
  }
  poll();
})();
