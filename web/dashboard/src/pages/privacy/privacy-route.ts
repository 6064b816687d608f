import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../../app/lazy-page'
import { pageFiles } from '../../app/page-files'
import { pagesRoute } from '../../app/root'

export const privacyRoute = createRoute({
  getParentRoute: () => pagesRoute,
  path: '/privacy',
  staticData: { needs: 'privacy:read' },
  component: lazyPage(pageFiles['/privacy'], 'PrivacyPage'),
})
