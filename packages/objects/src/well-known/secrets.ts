/** Types of Secrets: with a token of a ServiceAccount; with credentials for registries, in either format of Docker. */
export const TOKEN_SECRET = 'kubernetes.io/service-account-token';
export const DOCKER_CONFIG_SECRET = 'kubernetes.io/dockerconfigjson';
export const OLD_DOCKER_CONFIG_SECRET = 'kubernetes.io/dockercfg';

/** A token Secret's annotation: the name of its ServiceAccount. */
export const ACCOUNT_NAME_ANNOTATION = 'kubernetes.io/service-account.name';

/** A ServiceAccount's annotation: with 'true', its pods may mount only the Secrets that it lists. */
export const MOUNTABLE_SECRETS_ANNOTATION = 'kubernetes.io/enforce-mountable-secrets';

/** A token Secret's annotation: the uid of its ServiceAccount. */
export const ACCOUNT_UID_ANNOTATION = 'kubernetes.io/service-account.uid';

/** A token Secret's label: the day on which its token was last used, `2006-01-02` in UTC. API servers write it. */
export const TOKEN_LAST_USED_LABEL = 'kubernetes.io/legacy-token-last-used';

/** A token Secret's label: the day from which on its token is refused. The controller-manager writes it, users may remove it. */
export const TOKEN_INVALID_SINCE_LABEL = 'kubernetes.io/legacy-token-invalid-since';

/** The ConfigMap whose key `since` has the day from which on API servers record the use of tokens in Secrets. */
export const TOKEN_TRACKING = {
  namespace: 'kube-system',
  name: 'kube-apiserver-legacy-service-account-token-tracking',
} as const;
