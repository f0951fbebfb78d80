// Figures of learn/seen that move with a slider. Plain SVG, no library, works offline.
"use strict";

(() => {
  const SVG = "http://www.w3.org/2000/svg";

  function node(name, attributes, parent) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (parent) parent.append(made);
    return made;
  }

  // The same points at every visit: a small generator with a seed, and normal numbers from it.
  function normals(seed) {
    let state = seed;
    const uniform = () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return (state + 0.5) / 4294967296;
    };
    return () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
  }

  function cloud(n, wide, narrow, angle, seed) {
    const normal = normals(seed);
    const [c, s] = [Math.cos(angle), Math.sin(angle)];
    return Array.from({ length: n }, () => {
      const [a, b] = [wide * normal(), narrow * normal()];
      return [c * a - s * b, s * a + c * b];
    });
  }

  function centred(points) {
    const mean = [0, 1].map((i) => points.reduce((sum, p) => sum + p[i], 0) / points.length);
    return points.map((p) => [p[0] - mean[0], p[1] - mean[1]]);
  }

  function covariance(points) {
    const rows = centred(points);
    const of = (i, j) => rows.reduce((sum, p) => sum + p[i] * p[j], 0) / (rows.length - 1);
    return [of(0, 0), of(0, 1), of(1, 1)];
  }

  // Angle of the first axis of a 2 × 2 covariance matrix, and both variances.
  function pca([xx, xy, yy]) {
    const middle = (xx + yy) / 2;
    const spread = Math.hypot((xx - yy) / 2, xy);
    return { angle: Math.atan2(2 * xy, xx - yy) / 2, first: middle + spread, second: middle - spread };
  }

  const degrees = (radians) => ((((radians * 180) / Math.PI) % 180) + 180) % 180;

  // A square plane from −size to size, y upwards.
  function plane(figure, size) {
    const svg = node("svg", {
      viewBox: `${-size} ${-size} ${2 * size} ${2 * size}`,
      role: "img",
      "aria-label": figure.dataset.label,
    });
    figure.querySelector(".seen-picture").append(svg);
    node("line", { x1: -size, x2: size, y1: 0, y2: 0, class: "seen-zero" }, svg);
    node("line", { y1: -size, y2: size, x1: 0, x2: 0, class: "seen-zero" }, svg);
    return svg;
  }

  function axisLine(svg, kind) {
    return node("line", { class: `seen-axis ${kind}` }, svg);
  }

  function place(line, angle, size) {
    const [c, s] = [Math.cos(angle) * size * 2, Math.sin(angle) * size * 2];
    for (const [key, value] of [["x1", -c], ["y1", s], ["x2", c], ["y2", -s]])
      line.setAttribute(key, value);
  }

  function dots(svg, points, radius, kind = "") {
    return points.map((p) => node("circle", { cx: p[0], cy: -p[1], r: radius, class: `seen-dot ${kind}` }, svg));
  }

  // Call draw with the values of all controls now and whenever one moves.
  function watch(figure, draw) {
    const controls = [...figure.querySelectorAll("input")];
    const words = figure.querySelector("output");
    const update = () => {
      const values = Object.fromEntries(
        controls.map((one) => [one.name, one.type === "checkbox" ? one.checked : Number(one.value)]),
      );
      words.textContent = draw(values);
    };
    for (const one of controls) one.addEventListener("input", update);
    update();
  }

  const figures = {
    projection(figure) {
      const size = 4;
      const points = centred(cloud(40, 1.7, 0.6, 0.6, 7));
      const best = pca(covariance(points));
      const total = best.first + best.second;
      const svg = plane(figure, size);
      const line = axisLine(svg, "seen-first");
      const drops = points.map(() => node("line", { class: "seen-drop" }, svg));
      dots(svg, points, 0.09);
      const feet = dots(svg, points, 0.07, "seen-foot");
      watch(figure, ({ angle }) => {
        const turn = (angle * Math.PI) / 180;
        const [c, s] = [Math.cos(turn), Math.sin(turn)];
        place(line, turn, size);
        let along = 0;
        points.forEach((p, i) => {
          const t = p[0] * c + p[1] * s;
          along += (t * t) / (points.length - 1);
          feet[i].setAttribute("cx", t * c);
          feet[i].setAttribute("cy", -t * s);
          for (const [key, value] of [["x1", p[0]], ["y1", -p[1]], ["x2", t * c], ["y2", -t * s]])
            drops[i].setAttribute(key, value);
        });
        const found = Math.abs(degrees(turn - best.angle + Math.PI / 2) - 90) < 1.6;
        return (
          `Variance along the line: ${along.toFixed(2)}. ` +
          `Squared distances to the line: ${(total - along).toFixed(2)}. ` +
          `Together: ${total.toFixed(2)}, always. ` +
          (found ? "This is the first component: the variance cannot be larger." : "")
        );
      });
    },

    units(figure) {
      const size = 5;
      const points = centred(cloud(50, 1.3, 0.55, 0.7, 11));
      const svg = plane(figure, size);
      const line = axisLine(svg, "seen-first");
      const marks = dots(svg, points, 0.1);
      watch(figure, ({ power, unit }) => {
        const factor = 10 ** power;
        let rows = points.map((p) => [p[0], p[1] * factor]);
        if (unit) {
          const [xx, , yy] = covariance(rows);
          rows = rows.map((p) => [p[0] / Math.sqrt(xx), p[1] / Math.sqrt(yy)]);
        }
        const found = pca(covariance(rows));
        // Everything is drawn at a size that fits, with the same unit on both axes.
        const largest = Math.max(...rows.flat().map(Math.abs));
        const zoom = (0.9 * size) / largest;
        rows.forEach((p, i) => {
          marks[i].setAttribute("cx", p[0] * zoom);
          marks[i].setAttribute("cy", -p[1] * zoom);
        });
        place(line, found.angle, size);
        const rate = (100 * found.first) / (found.first + found.second);
        const of = [Math.cos(found.angle) ** 2, Math.sin(found.angle) ** 2].map((x) => (100 * x).toFixed(0));
        return (
          `The second column is multiplied by ${factor.toPrecision(2)}. ` +
          `PC1 holds ${rate.toFixed(0)}% of the variance; ` +
          `${of[0]}% of it is the first column, ${of[1]}% the second.`
        );
      });
    },

    outlier(figure) {
      const size = 4;
      const points = centred(cloud(20, 0.9, 0.2, 0.15, 5));
      const svg = plane(figure, size);
      const without = axisLine(svg, "seen-second");
      const line = axisLine(svg, "seen-first");
      dots(svg, points, 0.09);
      const odd = node("circle", { r: 0.16, class: "seen-dot seen-odd" }, svg);
      const clean = pca(covariance(points)).angle;
      place(without, clean, size);
      watch(figure, ({ far }) => {
        const one = [-0.8, far];
        odd.setAttribute("cx", one[0]);
        odd.setAttribute("cy", -one[1]);
        const found = pca(covariance([...points, one]));
        place(line, found.angle, size);
        const turned = Math.abs(degrees(found.angle - clean + Math.PI / 2) - 90);
        return `One row of 21, ${far.toFixed(1)} above the others, turns PC1 by ${turned.toFixed(0)}°.`;
      });
    },

    close(figure) {
      const size = 4;
      const svg = plane(figure, size);
      const lines = Array.from({ length: 30 }, () => axisLine(svg, "seen-fan"));
      const marks = dots(svg, cloud(60, 1, 1, 0, 3), 0.08);
      watch(figure, ({ ratio }) => {
        const points = centred(cloud(60, 1.5, 1.5 * Math.sqrt(ratio), 0.5, 3));
        points.forEach((p, i) => {
          marks[i].setAttribute("cx", p[0]);
          marks[i].setAttribute("cy", -p[1]);
        });
        const whole = pca(covariance(points)).angle;
        let state = 9;
        const turned = lines.map((line) => {
          const drawn = points.map(() => {
            state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
            return points[Math.floor((state / 4294967296) * points.length)];
          });
          const angle = pca(covariance(drawn)).angle;
          place(line, angle, size);
          return Math.abs(degrees(angle - whole + Math.PI / 2) - 90);
        });
        const usual = turned.sort((a, b) => a - b)[Math.floor(turned.length / 2)];
        return (
          `The second variance is ${(100 * ratio).toFixed(0)}% of the first. ` +
          `In 30 resamples PC1 usually turns by ${usual.toFixed(0)}°. ` +
          (usual > 20 ? "Its direction is an accident of these rows." : "")
        );
      });
    },

    digits(figure) {
      const { mean, axes, scores, accumulated } = PCA_SEEN_DIGITS;
      const holder = figure.querySelector(".seen-picture");
      const pictures = scores.map((_, i) => {
        const canvas = document.createElement("canvas");
        canvas.width = canvas.height = 8;
        canvas.setAttribute("role", "img");
        canvas.setAttribute("aria-label", `digit ${i % 10}`);
        holder.append(canvas);
        return canvas.getContext("2d");
      });
      watch(figure, ({ k }) => {
        scores.forEach((row, i) => {
          const image = pictures[i].createImageData(8, 8);
          for (let j = 0; j < 64; j += 1) {
            let value = mean[j];
            for (let a = 0; a < k; a += 1) value += row[a] * axes[a][j];
            const grey = 255 - Math.max(0, Math.min(255, value * 15.9));
            image.data.set([grey, grey, grey, 255], 4 * j);
          }
          pictures[i].putImageData(image, 0, 0);
        });
        const rate = k ? 100 * accumulated[k - 1] : 0;
        return `${k} numbers a picture instead of 64: ${rate.toFixed(0)}% of the variance.`;
      });
    },
  };

  for (const figure of document.querySelectorAll("[data-seen]")) figures[figure.dataset.seen](figure);
})();
