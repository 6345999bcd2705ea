// Progressive enhancement. Every page is whole without it.
"use strict";
