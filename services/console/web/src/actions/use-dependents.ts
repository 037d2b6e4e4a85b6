import { StatusError } from '@gantry/objects';
import { useQuery } from '@tanstack/react-query';
import { allows } from '../api/access.ts';
import { collectionPath, type Kind } from '../api/kinds.ts';
import type { AnyObject, TabProps } from '../object/use-object.ts';
import { useConsole, useRules } from '../shell/console-context.ts';
import { type Dependent, dependentsOf } from './dependents.ts';

const METADATA = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
/** Objects of one kind that are read: a cluster may have more of them than a browser can hold. */
export const READ_OF_KIND = 500;

const DEFINITIONS = 'customresourcedefinitions.apiextensions.k8s.io';
/** Whose objects have others in them: these go too, whoever owns them. */
const CONTAINERS: ReadonlySet<string> = new Set(['namespaces', DEFINITIONS]);

export function isContainer({ id }: Kind): boolean {
  return CONTAINERS.has(id);
}

/** What goes with an object, as far as it was read. */
export interface Dependents {
  readonly all: readonly Dependent[];
  /** Kinds of which only the first objects were read. */
  readonly cut: readonly string[];
  /** Kinds that the user may not list. */
  readonly hidden: readonly string[];
}

type ListedKind = Pick<Kind, 'id' | 'group' | 'version' | 'resource' | 'kind' | 'isNamespaced'>;

interface List {
  readonly metadata?: { readonly continue?: string };
  readonly items?: readonly Pick<Dependent, 'metadata'>[];
}

/** What goes with an object: all of a namespace, all objects of a definition, or what it owns. Fails when the objects of a definition cannot be read. */
export function useDependents({ kind, namespace, name, object }: TabProps) {
  const { api, kinds } = useConsole();
  const space = kind.id === 'namespaces' ? name : namespace;
  const rules = useRules(space === '' ? 'default' : space);
  const { uid = '' } = object.metadata;
  return useQuery({
    queryKey: ['dependents', uid, rules],
    enabled: rules.isLoading !== true,
    queryFn: async ({ signal }): Promise<Dependents> => {
      const read = async (of: ListedKind) => {
        const path = `${collectionPath(of, space)}?limit=${READ_OF_KIND}`;
        const { metadata: list, items = [] } = await api.json<List>(path, { accept: METADATA, signal });
        const found = items.map(({ metadata }): Dependent => ({ kindId: of.id, kind: of.kind, metadata }));
        return { of, found, isCut: (list?.continue ?? '') !== '' };
      };
      if (kind.id === DEFINITIONS) {
        const { of, found, isCut } = await read(definedKind(object));
        return { all: found, cut: isCut ? [of.kind] : [], hidden: [] };
      }
      const hidden: string[] = [];
      const readIfAllowed = async (of: ListedKind) => {
        if (allows(rules, { verb: 'list', group: of.group, resource: of.resource })) {
          try {
            return [await read(of)];
          } catch (error) {
            // Rules of a namespace do not say whether they hold for all of them.
            if (!(error instanceof StatusError) || error.code !== 403) throw error;
          }
        }
        hidden.push(of.kind);
        return [];
      };
      const listed = kinds.filter(
        ({ resource, isNamespaced, verbs }) =>
          // What cannot be deleted, such as a measurement, does not go.
          verbs.includes('delete') && (isNamespaced || space === '') && resource !== 'events',
      );
      const lists = (await Promise.all(listed.map(readIfAllowed))).flat();
      const all = lists.flatMap(({ found }) => found);
      const cut = lists.filter(({ isCut }) => isCut).map(({ of }) => of.kind);
      return { all: CONTAINERS.has(kind.id) ? all : dependentsOf(uid, all), cut, hidden };
    },
  });
}

interface DefinitionSpec {
  readonly group?: string;
  readonly scope?: string;
  readonly names?: { readonly plural?: string; readonly kind?: string };
  readonly versions?: readonly { readonly name: string; readonly served?: boolean }[];
}

/** The kind that a definition defines, which discovery lists later than the server knows it. Throws StatusError when no version is served. */
function definedKind({ metadata, spec = {} }: AnyObject): ListedKind {
  const { group = '', scope, names = {}, versions = [] } = spec as DefinitionSpec;
  const { plural = '', kind = plural } = names;
  const version = versions.find(({ served }) => served === true)?.name;
  if (version === undefined) throw new StatusError('NotFound', 'no version of it is served: its objects are not known');
  return {
    id: metadata.name ?? '',
    group,
    version,
    resource: plural,
    kind,
    isNamespaced: scope === 'Namespaced',
  };
}
