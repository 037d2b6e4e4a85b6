/** Rotation bounds the disk space of a pod's log: kubelet's defaults. */
export const LOG_CONFIG = { Type: 'json-file', Config: { 'max-size': '10m', 'max-file': '5' } };
