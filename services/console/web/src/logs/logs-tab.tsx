import { StatusError } from '@gantry/objects';
import type { LabelSelector, Pod } from '@gantry/objects';
import { labelSelectorFrom } from '@gantry/objects';
import { useVirtualizer } from '@tanstack/react-virtual';
import {
  memo,
  type ReactNode,
  useDeferredValue,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import { collectionPath } from '../api/kinds.ts';
import type { TabProps } from '../object/use-object.ts';
import { useConsole, useKind, useLive } from '../shell/console-context.ts';
import { useFilterKey } from '../shell/filter-key.ts';
import { objectFormat } from '../watch/formats.ts';
import { segmentsOf } from './escape-codes.ts';
import { follows, type LogLine, searchLines } from './log-buffer.ts';
import { LogFeed, type LogSource, type LogView, MAX_SOURCES } from './log-feed.ts';

const MAX_LINES = 100_000;
const MAX_CHARACTERS = 32 * 1024 * 1024;
const LINE_PX = 20;

interface PodContainers {
  readonly uid: string;
  readonly name: string;
  readonly containers: readonly string[];
}

const FORMAT = objectFormat((object): PodContainers => {
  const { metadata, spec } = object as Pod;
  const all = [...(spec?.initContainers ?? []), ...(spec?.containers ?? []), ...(spec?.ephemeralContainers ?? [])];
  return { uid: metadata.uid ?? '', name: metadata.name ?? '', containers: all.map(({ name }) => name) };
});

/** The pods whose logs are shown: the pod itself, or all of a workload. */
function usePods({ kind, namespace, object }: TabProps): readonly PodContainers[] {
  const pods = useKind('pods');
  const isPod = kind.id === 'pods';
  const selector = useMemo(() => {
    const given = object.spec?.['selector'] as LabelSelector | undefined;
    return given === undefined ? '' : labelSelectorFrom(given).toString();
  }, [object]);
  const path = pods === undefined ? '' : collectionPath(pods, namespace);
  const query = useMemo(() => ({ labelSelector: selector }), [selector]);
  const live = useLive({ path, query, format: FORMAT, isEnabled: !isPod && selector !== '' });
  return useMemo(() => (isPod ? [FORMAT.rowsOf(object)].flat() : [...live.rows.values()]), [isPod, object, live]);
}

/** Logs of a pod, or of all pods of a workload, as they are written. */
export function LogsTab(props: TabProps): ReactNode {
  const pods = usePods(props);
  const [container, setContainer] = useState('');
  const [isPrevious, setIsPrevious] = useState(false);
  const [text, setText] = useState('');
  const field = useFilterKey();
  const [hasTimes, setHasTimes] = useState(false);
  const names = [...new Set(pods.flatMap(({ containers }) => containers))];
  const sources = useMemo(
    () => sourcesOf(props.namespace, pods, container, isPrevious),
    [props.namespace, pods, container, isPrevious],
  );
  const view = useFeed(sources.slice(0, MAX_SOURCES), `${container} ${String(isPrevious)}`);
  const wanted = useDeferredValue(text);
  const lines = useMemo(() => searchLines(view.lines, wanted), [view.lines, wanted]);
  return (
    <>
      <div className="filters">
        <select
          aria-label="Container"
          value={container}
          onChange={({ currentTarget }) => setContainer(currentTarget.value)}
        >
          <option value="">all containers</option>
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
        <input
          ref={field}
          type="search"
          aria-label="Search in the log"
          placeholder="Search  ( / )"
          value={text}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
        />
        <label>
          <input
            type="checkbox"
            checked={isPrevious}
            onChange={({ currentTarget }) => setIsPrevious(currentTarget.checked)}
          />{' '}
          previous
        </label>
        <label>
          <input
            type="checkbox"
            checked={hasTimes}
            onChange={({ currentTarget }) => setHasTimes(currentTarget.checked)}
          />{' '}
          times
        </label>
        <span className="muted" role="status">
          {lines.length === view.lines.length ? '' : `${lines.length} of `}
          {view.lines.length} lines{view.forgotten > 0 ? `, ${view.forgotten} older ones forgotten` : ''}
        </span>
      </div>
      {[...view.notes].map(([source, note]) => (
        <p key={source} className="muted">
          {source}: {note}
        </p>
      ))}
      {sources.length > MAX_SOURCES ? (
        <p className="muted">
          {MAX_SOURCES} of {sources.length} containers are followed.
        </p>
      ) : null}
      <Lines lines={lines} hasTimes={hasTimes} hasSources={sources.length > 1} />
    </>
  );
}

function sourcesOf(
  namespace: string,
  pods: readonly PodContainers[],
  container: string,
  isPrevious: boolean,
): readonly LogSource[] {
  const chosen = pods.flatMap(({ name, containers }) =>
    containers
      .filter((one) => container === '' || one === container)
      .map((one) => ({ name, container: one, many: containers.length > 1 })),
  );
  const tailLines = String(Math.max(100, Math.floor(MAX_LINES / Math.max(1, chosen.length))));
  return chosen.map(({ name, container: one, many }) => ({
    name: many ? `${name} ${one}` : name,
    path: `/api/v1/namespaces/${namespace}/pods/${name}/log`,
    query: { container: one, tailLines, ...(isPrevious ? { previous: 'true' } : { follow: 'true' }) },
  }));
}

/** Follows the sources; those that stay are not read again when others come or go. What somebody chooses anew begins with no lines. */
function useFeed(sources: readonly LogSource[], choice: string): LogView {
  const { api, clock, random } = useConsole();
  const feed = useMemo(
    () =>
      new LogFeed({
        open: (path, protocol) => new WebSocket(api.socketUrl(path), protocol),
        explain: async (path) => {
          try {
            await (await api.fetch(path)).text();
            return undefined;
          } catch (error) {
            return error instanceof StatusError ? error : undefined;
          }
        },
        clock,
        random,
        maxLines: MAX_LINES,
        maxCharacters: MAX_CHARACTERS,
      }),
    // Lines of another choice are not mixed with those of this one.
    [api, clock, random, choice],
  );
  const running = useRef(new Map<string, AbortController>());
  useEffect(
    () => () => {
      for (const abort of running.current.values()) abort.abort();
      running.current.clear();
    },
    [feed],
  );
  useEffect(() => {
    const wanted = new Map(sources.map((source) => [`${source.path} ${source.query['container'] ?? ''}`, source]));
    for (const [key, abort] of running.current)
      if (!wanted.has(key)) {
        abort.abort();
        running.current.delete(key);
      }
    for (const [key, source] of wanted)
      if (!running.current.has(key)) {
        const abort = new AbortController();
        running.current.set(key, abort);
        void feed.follow(source, abort.signal);
      }
  }, [feed, sources]);
  return useSyncExternalStore(feed.subscribe, feed.view);
}

interface LinesProps {
  readonly lines: readonly LogLine[];
  readonly hasTimes: boolean;
  readonly hasSources: boolean;
}

/** Only the visible lines are in the document. At the end it follows; scrolling up stops that. */
function Lines({ lines, hasTimes, hasSources }: LinesProps): ReactNode {
  const scroller = useRef<HTMLDivElement>(null);
  const [isAtEnd, setIsAtEnd] = useState(true);
  const lastTop = useRef(0);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => LINE_PX,
    overscan: 20,
    getItemKey: (index) => lines[index]?.id ?? index,
  });
  useLayoutEffect(() => {
    if (isAtEnd && lines.length > 0) virtual.scrollToIndex(lines.length - 1, { align: 'end' });
  }, [lines, isAtEnd, virtual]);
  const onScroll = () => {
    const { current } = scroller;
    if (current === null) return;
    const { scrollTop, scrollHeight, clientHeight } = current;
    const moved = { byPx: scrollTop - lastTop.current, toEndPx: scrollHeight - scrollTop - clientHeight };
    lastTop.current = scrollTop;
    setIsAtEnd((following) => follows(following, moved));
  };
  return (
    <div className="log-frame">
      <div className="log" ref={scroller} onScroll={onScroll} tabIndex={0} role="log" aria-label="Log" aria-live="off">
        <div className="rows" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start, key }) => {
            const line = lines[index];
            return line === undefined ? null : (
              <div key={String(key)} className="log-line" style={{ transform: `translateY(${start}px)` }}>
                {hasTimes ? <span className="muted">{line.time} </span> : null}
                {hasSources ? <span className="log-source">{line.source} </span> : null}
                <LineText text={line.text} />
              </div>
            );
          })}
        </div>
      </div>
      {isAtEnd ? null : (
        <button type="button" className="log-end" onClick={() => setIsAtEnd(true)}>
          Follow ↓
        </button>
      )}
    </div>
  );
}

const LineText = memo(function LineText({ text }: { readonly text: string }): ReactNode {
  return segmentsOf(text).map(({ text: part, style }, index) =>
    style === '' ? (
      part
    ) : (
      <span key={`${index} ${style}`} className={style.replaceAll(/(\w+)/g, 'ansi-$1')}>
        {part}
      </span>
    ),
  );
});
