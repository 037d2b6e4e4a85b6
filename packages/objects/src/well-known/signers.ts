/** Signers of CertificateSigningRequests: for clients, for agents as clients, and for the servers of agents. */
export const CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client';
export const NODE_CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client-kubelet';
export const SERVING_SIGNER = 'kubernetes.io/kubelet-serving';
