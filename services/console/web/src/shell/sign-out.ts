import { createContext } from 'react';

/** Ends the session. */
export const SignOutContext = createContext<() => void>(() => {});
