import './tokens.css'
import './theme.css'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { applyAppearance } from './app/appearance'
import { LanguageProvider } from './app/language'
import { queryClient } from './app/query-client'
import { router } from './app/router'

applyAppearance()
createRoot(document.getElementById('pages')!).render(
  <StrictMode>
    <LanguageProvider>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </LanguageProvider>
  </StrictMode>,
)
