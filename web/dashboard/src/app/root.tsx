import { createRootRoute, createRoute, Outlet, retainSearchParams } from '@tanstack/react-router'
import type { Permission } from '../api/contract'
import { Gate } from './Gate'
import { Layout } from './Layout'
import { NotFound } from './NotFound'
import { PageError } from './PageError'
import { RequirePermission } from './RequirePermission'
import { picked } from './search-params'

export interface PagesSearch {
  readonly merchantId?: string | undefined
}

declare module '@tanstack/react-router' {
  interface StaticDataRouteOption {
    /** Of whoever may see the page; null where it is no page. The compiler lets no route forget it. */
    readonly needs: Permission | null
  }
}

export const rootRoute = createRootRoute({
  staticData: { needs: null },
  component: () => (
    <Gate>
      <Layout>
        <Outlet />
      </Layout>
    </Gate>
  ),
  notFoundComponent: NotFound,
  errorComponent: PageError,
})

/** Above every page: the chosen merchant goes along from one to the next. */
export const pagesRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'pages',
  staticData: { needs: null },
  validateSearch: (search: Record<string, unknown>): PagesSearch => picked(search, ['merchantId']),
  search: { middlewares: [retainSearchParams<PagesSearch>(['merchantId'])] },
  component: () => (
    <RequirePermission>
      <Outlet />
    </RequirePermission>
  ),
  errorComponent: PageError,
})
