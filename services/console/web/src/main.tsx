import { must } from '@gantry/base';
import { StatusError } from '@gantry/objects';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { createConsoleRouter } from './routes.tsx';
import { SessionGate } from './shell/session-gate.tsx';
import './style.css';

/** A refusal stays one: only what may succeed later is tried again. */
const mayPass = (error: unknown) => !(error instanceof StatusError) || error.code >= 500 || error.code === 429;

const queries = new QueryClient({
  defaultOptions: { queries: { retry: (count, error) => count < 2 && mayPass(error), staleTime: 5_000 } },
});
const router = createConsoleRouter();

createRoot(must(document.getElementById('root'), 'index.html has an element #root')).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <SessionGate>
        <RouterProvider router={router} />
      </SessionGate>
    </QueryClientProvider>
  </StrictMode>,
);
