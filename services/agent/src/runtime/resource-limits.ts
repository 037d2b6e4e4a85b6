/** Control group values of a container or a pod; an absent one is not limited. */
export interface ResourceLimits {
  readonly cpuShares?: number;
  readonly cpuQuotaMicros?: number;
  readonly memoryBytes?: number;
}
