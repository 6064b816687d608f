import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../../app/lazy-page'
import { pageFiles } from '../../app/page-files'
import { pagesRoute } from '../../app/root'
import { pickSearch } from '../../app/search-params'

const names = ['view', 'id', 'at', 'of', 'actor', 'type', 'from', 'to'] as const

type AuditSearch = { readonly [name in (typeof names)[number]]?: string | undefined }

export const auditRoute = createRoute({
  getParentRoute: () => pagesRoute,
  path: '/audit',
  staticData: { needs: 'audit:read' },
  validateSearch: (search: Record<string, unknown>): AuditSearch => pickSearch(search, names),
  component: lazyPage(pageFiles['/audit'], 'AuditPage'),
})
