import { type ReactNode, useEffect, useState } from 'react';

const THEMES = ['system', 'light', 'dark'] as const;
type Theme = (typeof THEMES)[number];
const KEY = 'gantry-theme';

function storedTheme(): Theme {
  return THEMES.find((theme) => theme === localStorage.getItem(KEY)) ?? 'system';
}

/** Goes through the themes: as the system, light, dark. */
export function ThemeButton(): ReactNode {
  const [theme, setTheme] = useState(storedTheme);
  useEffect(() => {
    document.documentElement.dataset['theme'] = theme;
    localStorage.setItem(KEY, theme);
  }, [theme]);
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'system';
  const shown = theme === 'system' ? 'Auto' : theme === 'light' ? 'Light' : 'Dark';
  return (
    <button
      type="button"
      className="quiet"
      onClick={() => setTheme(next)}
      aria-label={`${shown} theme; change to ${next}`}
    >
      {shown}
    </button>
  );
}
