import { type KubeObject, pathSegment, ROLE_BINDINGS, type RoleRef, type Subject } from '@gantry/objects';
import { ageColumn, type Column, column, defineResource, nameColumn } from '@gantry/apimachinery';
import { defaultBinding, subjectNames, validateBindingTo, validateBindingUpdate } from './rules.ts';

/** The columns of the bindings of a kind: the role, described as `role`, and its subjects. */
export function bindingColumns<T extends KubeObject & { roleRef: RoleRef; subjects?: Subject[] }>(
  of: 'clusterRoleBinding' | 'roleBinding',
  role: string,
): Column<T>[] {
  const subjects = (name: string, kind: string) =>
    column<T>(name, `${name} in the ${of}`, (object) => subjectNames(object, kind), { wide: 'wide' });
  return [
    nameColumn,
    column('Role', role, ({ roleRef }) => `${roleRef.kind}/${roleRef.name}`),
    ageColumn,
    subjects('Users', 'User'),
    subjects('Groups', 'Group'),
    subjects('ServiceAccounts', 'ServiceAccount'),
  ];
}

export const roleBindings = defineResource(ROLE_BINDINGS, {
  schema: 'rbac.v1.RoleBinding',
  strategy: {
    validateName: pathSegment,
    applyDefaults: defaultBinding,
    validate: (object) => validateBindingTo(object, 'namespace'),
    validateUpdate: validateBindingUpdate,
    metadataOnUpdate: 'whole first',
    allowCreateOnUpdate: true,
  },
  columns: bindingColumns(
    'roleBinding',
    'RoleRef can reference a Role in the current namespace or a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error.',
  ),
});
