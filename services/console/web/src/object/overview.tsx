import type { Condition, Pod } from '@gantry/objects';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { findKind } from '../api/kinds.ts';
import { formatAge } from '../shell/ages.ts';
import { useConsole, useNow } from '../shell/console-context.ts';
import { Containers } from './containers.tsx';
import { maskedAnnotations } from './masked.ts';
import { Ports } from './ports.tsx';
import type { AnyObject, TabProps } from './use-object.ts';
import { ScrollBox } from '../shell/scroll-box.tsx';
import { Table } from '../shell/table.tsx';

/** Facts, conditions, containers and data of an object. */
export function Overview(props: TabProps): ReactNode {
  const { kind, namespace, object } = props;
  const { metadata, status } = object;
  const conditions = (status?.['conditions'] ?? []) as readonly Condition[];
  return (
    <div className="overview">
      <section aria-label="Facts">
        <Facts object={object} namespace={namespace} />
      </section>
      {conditions.length === 0 ? null : (
        <section>
          <h2>Conditions</h2>
          <Conditions conditions={conditions} />
        </section>
      )}
      {kind.id === 'pods' ? <Containers pod={object as Pod} /> : null}
      {kind.id === 'pods' || kind.id === 'services' ? <Ports {...props} /> : null}
      {object.data === undefined ? null : (
        <section>
          <h2>Data</h2>
          <Data data={object.data} isSecret={kind.id === 'secrets'} />
        </section>
      )}
      <section>
        <h2>Labels</h2>
        <Pairs pairs={metadata.labels} />
      </section>
      <section>
        <h2>Annotations</h2>
        <Pairs pairs={kind.id === 'secrets' ? maskedAnnotations(metadata.annotations) : metadata.annotations} />
      </section>
    </div>
  );
}

function Facts({ object, namespace }: { readonly object: AnyObject; readonly namespace: string }): ReactNode {
  const { kinds } = useConsole();
  const now = useNow();
  const { metadata, spec, status } = object;
  const age = (time: string | undefined) => (time === undefined ? '' : `${formatAge(now - Date.parse(time))} ago`);
  const scalars = { ...scalarsOf(spec), ...scalarsOf(status) };
  return (
    <dl className="facts">
      <dt>Created</dt>
      <dd title={metadata.creationTimestamp}>{age(metadata.creationTimestamp)}</dd>
      {metadata.deletionTimestamp === undefined ? null : (
        <>
          <dt>Being deleted</dt>
          <dd className="bad">
            since {age(metadata.deletionTimestamp)}
            {metadata.finalizers === undefined ? '' : `; waits for ${metadata.finalizers.join(', ')}`}
          </dd>
        </>
      )}
      {(metadata.ownerReferences ?? []).map(({ apiVersion, kind, name, uid }) => {
        const owner = findKind(kinds, apiVersion, kind);
        return (
          <FactPair key={uid} name="Owned by">
            {owner === undefined ? (
              `${kind} ${name}`
            ) : (
              <Link
                to="/objects/$kind/$namespace/$name"
                params={{ kind: owner.id, namespace: owner.isNamespaced ? namespace : '-', name }}
              >
                {kind} {name}
              </Link>
            )}
          </FactPair>
        );
      })}
      {Object.entries(scalars).map(([name, value]) => (
        <FactPair key={name} name={name}>
          {value}
        </FactPair>
      ))}
    </dl>
  );
}

function FactPair({ name, children }: { readonly name: string; readonly children: ReactNode }): ReactNode {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

/** The plain values of a spec or a status; lists and maps are in the YAML. */
function scalarsOf(part: unknown): Readonly<Record<string, string>> {
  if (part === null || typeof part !== 'object') return {};
  const plain = Object.entries(part).filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value));
  return Object.fromEntries(plain.map(([name, value]) => [wordsOf(name), String(value)]));
}

/** `terminationGracePeriodSeconds` as words. */
function wordsOf(name: string): string {
  const words = name.replaceAll(/([a-z])([A-Z])/g, '$1 $2').replaceAll(/([A-Z]+)([A-Z][a-z])/g, '$1 $2');
  return words.charAt(0).toUpperCase() + words.slice(1).toLowerCase();
}

/** Types whose truth is bad news. */
const BAD_WHEN_TRUE = /Pressure|Unavailable$|Failure$|^Failed|Failing|DisruptionTarget/;

function Conditions({ conditions }: { readonly conditions: readonly Condition[] }): ReactNode {
  const now = useNow();
  return (
    <Table label="Conditions" of={['Type', 'Status', 'Since', 'Reason']}>
      {conditions.map(({ type, status, reason, message, lastTransitionTime }) => {
        const isGood = (status === 'True') !== BAD_WHEN_TRUE.test(type);
        return (
          <tr key={type}>
            <th scope="row">{type}</th>
            <td data-tone={status === 'Unknown' ? 'waiting' : isGood ? 'good' : 'bad'}>{status}</td>
            <td>{lastTransitionTime ? formatAge(now - Date.parse(lastTransitionTime)) : ''}</td>
            <td>
              {reason} {message === undefined || message === '' ? null : <span className="muted">{message}</span>}
            </td>
          </tr>
        );
      })}
    </Table>
  );
}

function Pairs({ pairs }: { readonly pairs: Readonly<Record<string, string>> | undefined }): ReactNode {
  const entries = Object.entries(pairs ?? {});
  if (entries.length === 0) return <p className="muted">none</p>;
  return (
    <dl className="pairs">
      {entries.map(([name, value]) => (
        <FactPair key={name} name={name}>
          {value}
        </FactPair>
      ))}
    </dl>
  );
}

interface DataProps {
  readonly data: Readonly<Record<string, string>>;
  readonly isSecret: boolean;
}

/** The values of a ConfigMap, or of a Secret: these are shown one by one, when a person asks. */
function Data({ data, isSecret }: DataProps): ReactNode {
  return (
    <dl className="pairs">
      {Object.entries(data).map(([name, value]) => (
        <FactPair key={name} name={name}>
          {isSecret ? (
            <MaskedValue name={name} base64={value} />
          ) : (
            <ScrollBox as="pre" className="value" label={name}>
              {value}
            </ScrollBox>
          )}
        </FactPair>
      ))}
    </dl>
  );
}

function MaskedValue({ name, base64 }: { readonly name: string; readonly base64: string }): ReactNode {
  const [isShown, setIsShown] = useState(false);
  const bytes = Math.floor((base64.replace(/=+$/, '').length * 3) / 4);
  return (
    <>
      {isShown ? (
        <ScrollBox as="pre" className="value" label={name}>
          {decoded(base64)}
        </ScrollBox>
      ) : (
        <span className="muted">•••••• ({bytes} bytes) </span>
      )}
      <button type="button" onClick={() => setIsShown(!isShown)} aria-label={`${isShown ? 'Hide' : 'Show'} ${name}`}>
        {isShown ? 'Hide' : 'Show'}
      </button>
    </>
  );
}

/** The text of a value; of bytes that are no text, their base64. */
function decoded(base64: string): string {
  try {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return base64;
  }
}
