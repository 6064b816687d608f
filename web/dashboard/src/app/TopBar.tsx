import { Search } from 'lucide-react'
import { Button } from '../components/Button'
import { Crumbs } from './Crumbs'
import { LiveStatus } from './LiveStatus'
import { useText } from './texts'
import './TopBar.css'

export function TopBar({ onSearch }: { readonly onSearch: () => void }) {
  const text = useText()
  return (
    <header className="TopBar">
      <Crumbs />
      <LiveStatus />
      <Button className="TopBar-search" onPress={onSearch} aria-keyshortcuts="Control+K">
        <Search />
        <span className="TopBar-text">{text('shell.search')}</span>
        <kbd>{text('shell.searchKeys')}</kbd>
      </Button>
    </header>
  )
}
