// What is drawn on a curve by hand: thresholds, the present point, trained dots with their bars.

import { at, colours, dot, font, inside, SHAPES } from "./plot.js";
import { trainedWords } from "./trained.js";

/** Draws thresholds as dotted verticals with their labels. */
export function drawMarks(u, thresholds) {
  const { muted, card } = colours();
  inside(u, (ctx, bbox, ratio) => {
    ctx.font = font(0.9 * ratio);
    ctx.textAlign = "left";
    ctx.textBaseline = "top";
    ctx.fillStyle = muted;
    ctx.strokeStyle = muted;
    ctx.lineWidth = 1.5 * ratio;
    ctx.setLineDash([2 * ratio, 4 * ratio]);
    const marks = thresholds.map(({ at: place, label }) => ({ x: at(u, "x", place), label })).filter(({ x }) => x >= bbox.left && x <= bbox.left + bbox.width);
    for (const { x } of marks) {
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.setLineDash([]);
    ctx.strokeStyle = card;
    ctx.lineWidth = 4 * ratio;
    const ends = [];
    for (const { x, label } of marks.sort((a, b) => a.x - b.x)) {
      // Labels that would lie on each other go to rows beneath; near the right end they go to the left.
      const width = ctx.measureText(label).width + 8 * ratio;
      const isLeft = x + width > bbox.left + bbox.width;
      const begin = isLeft ? x - width : x + 4 * ratio;
      let row = 0;
      while (ends[row] > begin) row++;
      ends[row] = begin + width;
      const y = bbox.top + (3 + row * 15) * ratio;
      ctx.strokeText(label, begin, y);
      ctx.fillText(label, begin, y);
    }
  });
}

/** Draws the present point and, above it, the trained dots: they are often at the same place. */
export function drawDots(u, { dots, present }) {
  const theme = colours();
  const { ink, card } = theme;
  if (present) drawPresent(u, present, theme);
  const groups = groupsOf(dots);
  inside(u, (ctx, bbox, ratio) => {
    for (const [{ colour, isHere }, list] of dots) {
      for (const entry of list) {
        const { x, y, error } = entry;
        const [px, py] = [at(u, "x", x), at(u, "y", y)];
        ctx.strokeStyle = isHere ? ink : colour;
        ctx.lineWidth = 1.5 * ratio;
        if (error) {
          const reaches = u.scales.y.distr !== 3 || y > 2 * error;
          const [above, below] = [at(u, "y", y + 2 * error), reaches ? at(u, "y", y - 2 * error) : bbox.top + bbox.height];
          ctx.beginPath();
          ctx.moveTo(px, above);
          ctx.lineTo(px, below);
          for (const end of [above, below]) {
            ctx.moveTo(px - 4 * ratio, end);
            ctx.lineTo(px + 4 * ratio, end);
          }
          ctx.stroke();
        }
        dot(ctx, SHAPES[groups.findIndex(({ entries }) => entries.includes(entry)) % SHAPES.length], px, py, 4 * ratio);
        ctx.fillStyle = isHere ? ink : colour;
        ctx.fill();
        ctx.strokeStyle = card;
        ctx.lineWidth = ratio;
        ctx.stroke();
      }
    }
  });
}

function drawPresent(u, { x, y, text }, { ink, card, blue }) {
  inside(u, (ctx, bbox, ratio) => {
    const [px, py] = [at(u, "x", x), at(u, "y", y)];
    dot(ctx, "round", px, py, 6.5 * ratio);
    ctx.fillStyle = blue;
    ctx.fill();
    ctx.strokeStyle = card;
    ctx.lineWidth = 2 * ratio;
    ctx.stroke();
    ctx.font = `600 ${font(ratio)}`;
    const isRight = px + ctx.measureText(text).width + 16 * ratio < bbox.left + bbox.width;
    ctx.textAlign = isRight ? "left" : "right";
    ctx.textBaseline = "bottom";
    const [tx, ty] = [px + (isRight ? 12 : -12) * ratio, Math.max(bbox.top + 16 * ratio, py - 5 * ratio)];
    ctx.lineWidth = 4 * ratio;
    ctx.strokeText(text, tx, ty);
    ctx.fillStyle = ink;
    ctx.fillText(text, tx, ty);
  });
}

/** Dots by trainer and dimension, in the order of the latter: each group has its shape and its words. */
export function groupsOf(dots) {
  const groups = new Map();
  for (const [line, list] of dots) {
    for (const entry of list) {
      const words = trainedWords(entry);
      if (!groups.has(words)) groups.set(words, { words, line, d: entry.d, entries: [] });
      groups.get(words).entries.push(entry);
    }
  }
  return [...groups.values()].sort((a, b) => a.d - b.d);
}
