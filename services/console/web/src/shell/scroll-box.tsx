import { type ReactNode, useCallback, useState } from 'react';

interface Props {
  /** What a screen reader says of it. */
  readonly label: string;
  readonly as?: 'div' | 'pre';
  readonly className?: string;
  readonly children: ReactNode;
}

/** While its content is larger than the box, the keyboard reaches it, to scroll. Otherwise it is no stop, which would do nothing. */
export function ScrollBox({ label, as: Box = 'div', className = 'scroll-box', children }: Props): ReactNode {
  const [scrolls, setScrolls] = useState(false);
  const ref = useCallback((box: HTMLElement | null) => {
    if (box === null) return undefined;
    const measure = () => setScrolls(box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight);
    // The box changes with the page; what is in it, with the text, too.
    const resized = new ResizeObserver(measure);
    for (const one of [box, ...box.children]) resized.observe(one);
    const changed = new MutationObserver(measure);
    changed.observe(box, { childList: true, characterData: true, subtree: true });
    measure();
    return () => {
      resized.disconnect();
      changed.disconnect();
    };
  }, []);
  const stop = scrolls ? { tabIndex: 0, role: 'region', 'aria-label': label } : {};
  return (
    <Box ref={ref} className={className} {...stop}>
      {children}
    </Box>
  );
}
