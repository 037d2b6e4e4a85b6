/** Totals since the start: plain numbers, so that a packet costs no look-up of labels. */
export interface ServerTotals {
  udp: number;
  tcp: number;
  unsent: number;
  /** By response code. */
  readonly codes: number[];
}

export function createServerTotals(): ServerTotals {
  return { udp: 0, tcp: 0, unsent: 0, codes: [] };
}
