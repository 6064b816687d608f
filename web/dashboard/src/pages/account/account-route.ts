import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../../app/lazy-page'
import { pageFiles } from '../../app/page-files'
import { pagesRoute } from '../../app/root'

export const accountRoute = createRoute({
  getParentRoute: () => pagesRoute,
  path: '/account',
  staticData: { needs: 'account:own' },
  component: lazyPage(pageFiles['/account'], 'AccountPage'),
})
