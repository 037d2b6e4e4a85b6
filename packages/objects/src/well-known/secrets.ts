/** Types of Secrets: with a token of a ServiceAccount; with credentials for registries, in either format of Docker. */
export const TOKEN_SECRET = 'kubernetes.io/service-account-token';
export const DOCKER_CONFIG_SECRET = 'kubernetes.io/dockerconfigjson';
export const OLD_DOCKER_CONFIG_SECRET = 'kubernetes.io/dockercfg';

/** A token Secret's annotation: the name of its ServiceAccount. */
export const ACCOUNT_NAME_ANNOTATION = 'kubernetes.io/service-account.name';

/** A ServiceAccount's annotation: with 'true', its pods may mount only the Secrets that it lists. */
export const MOUNTABLE_SECRETS_ANNOTATION = 'kubernetes.io/enforce-mountable-secrets';
