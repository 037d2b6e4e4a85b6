import { type ReactNode, useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

interface Props {
  readonly title: string;
  readonly names: readonly string[];
  /** Unix seconds, and for each name its values; null where there is none. */
  readonly data: readonly (readonly (number | null)[])[];
  readonly unit: string;
}

const HEIGHT = 150;
const COLOURS = ['--accent', '--waiting', '--bad', '--good', '--muted'] as const;

/** Curves over time. The table beside them says the same to those who do not see it. */
export function Chart({ title, names, data, unit }: Props): ReactNode {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  const shape = names.join('\n');
  useEffect(() => {
    const element = host.current;
    if (element === null) return undefined;
    const probe = document.createElement('span');
    element.append(probe);
    const colour = (name: string) => {
      probe.style.color = `var(${name})`;
      return getComputedStyle(probe).color;
    };
    const axis = { stroke: colour('--muted'), grid: { stroke: colour('--line'), width: 1 }, font: '11px sans-serif' };
    const created = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        legend: { live: false },
        cursor: { y: false },
        axes: [
          axis,
          { ...axis, size: 56, values: (_: uPlot, values: number[]) => values.map((value) => `${value} ${unit}`) },
        ],
        scales: { y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] } },
        series: [
          {},
          ...shape.split('\n').map((label, index) => ({
            label,
            stroke: colour(COLOURS[index % COLOURS.length] ?? '--accent'),
            width: 1.5,
          })),
        ],
      },
      [[]],
      element,
    );
    probe.remove();
    plot.current = created;
    const observer = new ResizeObserver(() => created.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      created.destroy();
      plot.current = null;
    };
  }, [shape, unit]);
  useEffect(() => plot.current?.setData(data as uPlot.AlignedData), [data, shape]);
  return (
    <figure aria-label={title}>
      <figcaption>{title}</figcaption>
      <div ref={host} />
    </figure>
  );
}
