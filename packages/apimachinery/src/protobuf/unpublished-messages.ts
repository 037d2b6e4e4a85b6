const HOME = 'k8s.io.api.certificates.v1beta1.';
const META = 'k8s.io.apimachinery.pkg.apis.meta.v1.';

/** Messages of kinds of Kubernetes whose schemas it does not publish, in the form of schemas/protobuf.json. */
export const UNPUBLISHED_MESSAGES: Readonly<Record<string, Readonly<Record<string, readonly (number | string)[]>>>> = {
  [`${HOME}ClusterTrustBundle`]: { metadata: [1, `${META}ObjectMeta`], spec: [2, 'ClusterTrustBundleSpec'] },
  [`${HOME}ClusterTrustBundleList`]: {
    metadata: [1, `${META}ListMeta`],
    items: [2, 'ClusterTrustBundle', 'repeated'],
  },
  [`${HOME}ClusterTrustBundleSpec`]: { signerName: [1, 'string'], trustBundle: [2, 'string'] },
};

/** The short names of their schemas, which do not exist, by version and kind. */
export const UNPUBLISHED_KINDS: ReadonlyMap<string, string> = new Map(
  ['ClusterTrustBundle', 'ClusterTrustBundleList'].map((kind) => [
    `certificates.k8s.io/v1beta1 ${kind}`,
    `certificates.v1beta1.${kind}`,
  ]),
);
