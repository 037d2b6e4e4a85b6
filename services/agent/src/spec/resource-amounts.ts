/** Amounts of the resources that every node has. */
export interface ResourceAmounts {
  readonly cpuMillis: number;
  readonly memoryBytes: number;
  readonly storageBytes: number;
}
