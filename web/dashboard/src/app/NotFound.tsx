import { ButtonLink } from '../components/Button'
import { Empty } from '../components/Empty'
import { Page } from '../components/Page'
import { useText } from './texts'

export function NotFound() {
  const text = useText()
  return (
    <Page title={text('shell.notFound')}>
      <Empty title={text('shell.notFoundHelp')}>
        <ButtonLink to="/" look="primary">
          {text('shell.toOverview')}
        </ButtonLink>
      </Empty>
    </Page>
  )
}
