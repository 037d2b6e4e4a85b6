import { MOUNTABLE_SECRETS_ANNOTATION, SERVICE_ACCOUNTS, type ServiceAccount } from '@gantry/objects';
import { ageColumn, defineResource, nameColumn } from '@gantry/apimachinery';

/** Keeps only the names of secret references: secrets are in the account's own namespace. */
function keepNames(object: ServiceAccount): void {
  if (object.secrets !== undefined)
    object.secrets = object.secrets.map(({ name }) => (name === undefined ? {} : { name }));
}

function warnings({ metadata }: ServiceAccount, old?: ServiceAccount): string[] {
  const isNew =
    MOUNTABLE_SECRETS_ANNOTATION in (metadata.annotations ?? {}) &&
    !(MOUNTABLE_SECRETS_ANNOTATION in (old?.metadata.annotations ?? {}));
  const advice = 'deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets';
  return isNew ? [`metadata.annotations[${MOUNTABLE_SECRETS_ANNOTATION}]: ${advice}`] : [];
}

export const serviceAccounts = defineResource(SERVICE_ACCOUNTS, {
  shortNames: ['sa'],
  schema: 'core.v1.ServiceAccount',
  strategy: { deletionResponse: 'object', prepareForCreate: keepNames, prepareForUpdate: keepNames, warnings },
  subresources: [
    { name: 'token', group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest', verbs: ['create'] },
  ],
  // Kubernetes 1.36 no longer counts secrets here.
  columns: [nameColumn, ageColumn],
});
