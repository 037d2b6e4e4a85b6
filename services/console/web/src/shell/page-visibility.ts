import { systemClock } from '@gantry/base';

/** A browser opens few connections to a server, and a watch takes one: pages that nobody sees give theirs up after this time. */
const HIDDEN_MS = 30_000;

/** Calls `listener` when the page has been hidden for a while, and when it is seen again. */
export function watchPageVisibility(listener: () => void): () => void {
  let cancel = () => {};
  const change = () => {
    cancel();
    hiddenSince.at = document.hidden ? systemClock.monotonicMs() : undefined;
    if (document.hidden) cancel = systemClock.setTimer(HIDDEN_MS + 1, listener);
    else listener();
  };
  document.addEventListener('visibilitychange', change);
  return () => {
    cancel();
    document.removeEventListener('visibilitychange', change);
  };
}

/** Whether the page has been hidden for a while. */
export function pageIsHidden(): boolean {
  return hiddenSince.at !== undefined && systemClock.monotonicMs() - hiddenSince.at > HIDDEN_MS;
}

/** The browser has one page: its state is the module's. */
const hiddenSince: { at: number | undefined } = { at: undefined };
