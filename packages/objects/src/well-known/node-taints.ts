/** Keys of the taints by which the control plane keeps pods off a Node. */
export const NOT_READY_TAINT = 'node.kubernetes.io/not-ready';
export const UNREACHABLE_TAINT = 'node.kubernetes.io/unreachable';
export const UNSCHEDULABLE_TAINT = 'node.kubernetes.io/unschedulable';
export const MEMORY_PRESSURE_TAINT = 'node.kubernetes.io/memory-pressure';
export const DISK_PRESSURE_TAINT = 'node.kubernetes.io/disk-pressure';
export const PID_PRESSURE_TAINT = 'node.kubernetes.io/pid-pressure';
export const NETWORK_UNAVAILABLE_TAINT = 'node.kubernetes.io/network-unavailable';
