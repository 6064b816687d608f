import { useMatches } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { ButtonLink } from '../components/Button'
import { Empty } from '../components/Empty'
import { Page } from '../components/Page'
import { useSession } from './current-session'
import { useText } from './texts'

/** A page for those who may see it, as its route says. The server decides again; this only says it in words. */
export function RequirePermission({ children }: { readonly children: ReactNode }) {
  const text = useText()
  const { user, permissions } = useSession()
  const needs = useMatches({ select: (matches) => matches.at(-1)?.staticData.needs ?? null })
  if (needs === null || permissions.includes(needs)) return children
  return (
    <Page title={text('shell.notAllowed')}>
      <Empty title={text('shell.notAllowedHelp', { name: user.name, role: text(`common.role.${user.role}`) })}>
        <ButtonLink to="/" look="primary">
          {text('shell.toOverview')}
        </ButtonLink>
      </Empty>
    </Page>
  )
}
