import type { PolicyRule } from '@gantry/objects';

/**
 * Roles by name, each rule as a line: verbs, API groups (`core` for the nameless one), resources and, if it is about some only,
 * their names; lists with commas. Rules about paths are verbs and `paths:` with those.
 */
export type RoleTable = Readonly<Record<string, readonly string[]>>;

const PATHS = 'paths:';

/** Reads one line of a table. */
export function parseRule(line: string): PolicyRule {
  const [verbs = '', groups = '', resources = '', names] = line.split(' ');
  if (groups.startsWith(PATHS)) {
    return { verbs: verbs.split(','), nonResourceURLs: groups.slice(PATHS.length).split(',') };
  }
  return {
    verbs: verbs.split(','),
    apiGroups: groups.split(',').map((group) => (group === 'core' ? '' : group)),
    resources: resources.split(','),
    ...(names === undefined ? {} : { resourceNames: names.split(',') }),
  };
}
