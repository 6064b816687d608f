import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { pagesRoute } from '../../app/root'

export const privacyRoute = createRoute({
  getParentRoute: () => pagesRoute,
  path: '/privacy',
  staticData: { needs: 'privacy:read' },
  component: lazyRouteComponent(() => import('./PrivacyPage'), 'PrivacyPage'),
})
