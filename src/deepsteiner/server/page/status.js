// How a result is called. "optimal" is said only where the server proved it.

const NAMES = {
  optimal: ["✓ optimal", "Proven: no shorter tree exists."],
  feasible: ["feasible", "A tree; how far from the shortest one is not proven."],
  time_limit: ["time limit", "The best tree found when the time was up."],
  interrupted: ["stopped", "The best tree found until it was stopped."],
  solving: ["solving…", "The numbers below are those of the tree before."],
  moving: ["moving", "This method is too slow to follow; it solves when you let go."],
  error: ["refused", "The method does not take these points; see below."],
  none: ["", ""],
};

/** Write a status into a badge. */
export function showStatus(badge, status) {
  const [text, title] = NAMES[status] ?? [status, ""];
  badge.textContent = text;
  badge.title = title;
  badge.dataset.status = status;
}

export const statusText = (status) => NAMES[status]?.[0] ?? status;
