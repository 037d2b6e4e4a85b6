/** What is wrong at a line of a page. */
export interface Fault {
  readonly line: number;
  readonly problem: string;
}
