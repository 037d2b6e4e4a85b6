import type { KubeObject, RoleRef, Subject } from '@gantry/objects';
import { type Column, ageColumn, column, nameColumn } from '@gantry/apimachinery';
import { subjectNames } from './rules.ts';

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
